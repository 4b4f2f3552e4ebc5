// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019), as AdamW
/// of PyTorch. In step t = 1, 2, ... of a parameter:
/// <code>
/// m = m + (1 - beta1) (gradient - m)                     m = v = 0 before the first step
/// v = beta2 v + (1 - beta2) gradient^2
/// p = p - learningRate (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weightDecay p)
/// </code></summary>
public sealed class AdamW : Optimizer
{
    /// <summary>Makes an optimizer. All numbers are 0 or more, and finite in Float32.</summary>
    /// <param name="parameters">The parameters: those of a block, with all that require a gradient of each of heed's own
    /// blocks that is in it.</param>
    /// <param name="learningRate">The learning rate.</param>
    /// <param name="beta1">The share of the mean of gradients that a step keeps, below 1.</param>
    /// <param name="beta2">The share of the mean of their squares, below 1.</param>
    /// <param name="epsilon">What is added to the root.</param>
    /// <param name="weightDecay">The share of a parameter that is taken off, times the learning rate.</param>
    /// <exception cref="ArgumentException">A number is out of range; no parameter requires a gradient; or one of a block
    /// that does is not in the list, which the sentence names.</exception>
    public AdamW(
        ParameterList parameters, double learningRate = 1e-3, double beta1 = 0.9, double beta2 = 0.999,
        double epsilon = 1e-8, double weightDecay = 1e-2)
        : base(
            parameters, learningRate, context => Make(context, learningRate, beta1, beta2, epsilon, weightDecay, false))
    {
    }

    private protected override string OptionsName => "adamw.options";

    /// <summary>Makes the native optimizer of both kinds of Adam.</summary>
    /// <param name="context">Where its parameters are.</param>
    /// <param name="learningRate">The learning rate.</param>
    /// <param name="beta1">Of the first moment.</param>
    /// <param name="beta2">Of the second one.</param>
    /// <param name="epsilon">What is added to the root.</param>
    /// <param name="weightDecay">The decay.</param>
    /// <param name="isCoupled">Whether the decay is added to the gradient: Adam.</param>
    internal static NativeOptimizer Make(
        NativeContext context, double learningRate, double beta1, double beta2, double epsilon, double weightDecay,
        bool isCoupled)
    {
        using var options = new NativeAdamWOptions
        {
            LearningRate = learningRate,
            Beta1 = beta1,
            Beta2 = beta2,
            Epsilon = epsilon,
            WeightDecay = weightDecay,
            CoupledDecay = isCoupled ? 1 : 0,
        };
        return HeedNative.HeedAdamwCreate(context, options);
    }

    /// <summary>Throws if a file is of the other kind of Adam, of which the native optimizer would take everything.</summary>
    internal static void CheckIsCoupled(string path, double[] options, bool expected)
    {
        const int CoupledDecay = 5;
        if (options[CoupledDecay] != 0 != expected)
        {
            string found = expected ? nameof(AdamW) : nameof(Adam);
            string own = expected ? nameof(Adam) : nameof(AdamW);
            throw new ArgumentException(
                $"\"{path}\" has the state of {found}, but the optimizer is {own}: expected the same kind", nameof(path));
        }
    }

    private protected override void CheckKind(string path, double[] options) => CheckIsCoupled(path, options, false);
}
