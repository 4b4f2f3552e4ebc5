// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Stochastic gradient descent (Robbins and Monro, 1951), with momentum (Polyak, 1964) and Nesterov's form of it
/// (Sutskever et al., 2013), as SGD of PyTorch without dampening:
/// <code>
/// g = gradient + weightDecay p
/// b = momentum b + g                                      b = 0 before the first step
/// p = p - learningRate (nesterov ? g + momentum b : b)
/// </code></summary>
public sealed class Sgd : Optimizer
{
    /// <summary>Makes an optimizer. All numbers are 0 or more, and finite in Float32.</summary>
    /// <param name="parameters">The parameters: those of a block, with all that require a gradient of each of heed's own
    /// blocks that is in it.</param>
    /// <param name="learningRate">The learning rate.</param>
    /// <param name="momentum">The share of the sum of earlier gradients that is kept; 0: none, and no memory for
    /// it.</param>
    /// <param name="weightDecay">The share of a parameter that is added to its gradient.</param>
    /// <param name="nesterov">Whether a step looks ahead by the momentum, which is above 0 then.</param>
    /// <exception cref="ArgumentException">A number is out of range; no parameter requires a gradient; or one of a block
    /// that does is not in the list, which the sentence names.</exception>
    public Sgd(
        ParameterList parameters, double learningRate = 1e-3, double momentum = 0, double weightDecay = 0,
        bool nesterov = false)
        : base(parameters, learningRate, context => Make(context, learningRate, momentum, weightDecay, nesterov))
    {
    }

    private protected override string OptionsName => "sgd.options";

    private static NativeOptimizer Make(
        NativeContext context, double learningRate, double momentum, double weightDecay, bool nesterov)
    {
        using var options = new NativeSgdOptions
        {
            LearningRate = learningRate,
            Momentum = momentum,
            WeightDecay = weightDecay,
            Nesterov = nesterov ? 1 : 0,
        };
        return HeedNative.HeedSgdCreate(context, options);
    }
}
