// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A layer of a Transformer's encoder (Vaswani et al., "Attention Is All You Need", 2017, section 3.1).
/// Forward takes x (B, S, E) of Float32, Float16 or BFloat16, where E is the attention's NumHiddens, and the valid
/// lengths (B) or (B, S) of Float32, Int32 or Int64, which may be missing or null: with length n, a row attends to the
/// first n rows. It gives one array of the shape and type of x.</summary>
/// <remarks>With A the self-attention and F the feed-forward network:
/// <code>
/// NormFirst false   h = norm_1(x + dropout_1(A(x)))    output = norm_2(h + dropout_2(F(h)))
/// NormFirst true    h = x + dropout_1(A(norm_1(x)))    output = h + dropout_2(F(norm_2(h)))
/// </code>
/// Its children are "self_attention", "feed_forward", "norm_1", "norm_2", "dropout_1" and "dropout_2"; its parameters
/// have their names before their own, as "self_attention.W_q.weight". In <see cref="AttentionInputs"/> x is Queries, or
/// packed (total, E); what the self-attention reads may be set, but no Keys, Values and Cache.</remarks>
public sealed class TransformerEncoderBlock : NativeBlock
{
    private readonly TransformerEncoderBlockOptions options;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option of the block or of a child is missing, out of range, or cannot be
    /// combined with another.</exception>
    public TransformerEncoderBlock(TransformerEncoderBlockOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal TransformerEncoderBlock(TransformerEncoderBlockOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    internal override string Kind => nameof(TransformerEncoderBlock);

    private protected override ListInputs ListInputs => ListInputs.Encoder;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();

    private protected override NativeBlock MakeChild(string name, ChildPath at) =>
        name == "self_attention" ? new MultiHeadAttention(options.Attention!, at) : options.MakeChild(name, at);
}
