// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The position-wise feed-forward network (Vaswani et al., "Attention Is All You Need", 2017, section 3.3)
/// over the last axis of its input: W_2 dropout(activation(W_1 x)), or with <see cref="FeedForwardOptions.Gated"/> W_2
/// dropout(activation(W_gate x) * W_1 x) (Shazeer, "GLU Variants Improve Transformer", arXiv 2002.05202). Forward takes
/// a list of one array (..., E) of Float32, Float16 or BFloat16 with one to eight axes, and gives one array (...,
/// OutputSize) of the same type.</summary>
/// <remarks>Its parameters are "W_1.weight" (HiddenSize, E), with a gate "W_gate.weight" (HiddenSize, E), and
/// "W_2.weight" (OutputSize, HiddenSize); with biases also "W_1.bias", "W_gate.bias" (HiddenSize) and "W_2.bias"
/// (OutputSize).</remarks>
public sealed class FeedForward : NativeBlock
{
    private readonly FeedForwardOptions options;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range.</exception>
    public FeedForward(FeedForwardOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal FeedForward(FeedForwardOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    internal override string Kind => nameof(FeedForward);

    private protected override ListInputs ListInputs => ListInputs.Single;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();
}
