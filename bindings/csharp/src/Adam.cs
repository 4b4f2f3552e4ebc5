// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015), as Adam of PyTorch. In step
/// t = 1, 2, ... of a parameter:
/// <code>
/// g = gradient + weightDecay p
/// m = m + (1 - beta1) (g - m)                            m = v = 0 before the first step
/// v = beta2 v + (1 - beta2) g^2
/// p = p - learningRate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon)
/// </code></summary>
public sealed class Adam : Optimizer
{
    /// <summary>Makes an optimizer. All numbers are 0 or more, and finite in Float32.</summary>
    /// <param name="parameters">The parameters: those of a block, with all that require a gradient of each of heed's own
    /// blocks that is in it.</param>
    /// <param name="learningRate">The learning rate.</param>
    /// <param name="beta1">The share of the mean of gradients that a step keeps, below 1.</param>
    /// <param name="beta2">The share of the mean of their squares, below 1.</param>
    /// <param name="epsilon">What is added to the root.</param>
    /// <param name="weightDecay">The share of a parameter that is added to its gradient; <see cref="AdamW"/> keeps it out of
    /// the means.</param>
    /// <exception cref="ArgumentException">A number is out of range; no parameter requires a gradient; or one of a block
    /// that does is not in the list, which the sentence names.</exception>
    public Adam(
        ParameterList parameters, double learningRate = 1e-3, double beta1 = 0.9, double beta2 = 0.999,
        double epsilon = 1e-8, double weightDecay = 0)
        : base(
            parameters, learningRate,
            context => AdamW.Make(context, learningRate, beta1, beta2, epsilon, weightDecay, true))
    {
    }

    private protected override string OptionsName => "adamw.options";

    private protected override void CheckKind(string path, double[] options) =>
        AdamW.CheckIsCoupled(path, options, true);
}
