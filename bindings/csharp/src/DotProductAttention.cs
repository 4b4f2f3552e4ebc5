// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;

namespace Heed;

/// <summary>Scaled dot-product attention, softmax(scale * Q K^T) V (Vaswani et al., "Attention Is All You Need", 2017),
/// with d2l-java's constructor and calls. Forward takes queries (B, Q, D), keys (B, K, D), values (B, K, Dv), or
/// (B, H, Q, D), (B, H, K, D), (B, H, K, Dv) with a number of key heads that divides that of the queries, of one type
/// of Float32, Float16 and BFloat16, and, optional or null, the valid lengths (B) or (B, Q) of Float32, Int32 or Int64:
/// a query attends to as many keys from the first. It gives one array of (B, Q, Dv) or (B, H, Q, Dv).</summary>
/// <remarks>It has no parameters, and need not be initialized.</remarks>
public sealed class DotProductAttention : NativeBlock
{
    private readonly KeptWeights kept;
    private readonly float dropout;

    /// <summary>Makes a block that keeps the attention weights of the last Forward, as d2l's does.</summary>
    /// <param name="dropout">The probability, from 0 to below 1, that an attention weight is dropped when
    /// training.</param>
    /// <exception cref="ArgumentException">The probability is out of range.</exception>
    public DotProductAttention(float dropout = 0)
        : this(new DotProductAttentionOptions { Dropout = dropout }, new KeptWeights(true))
    {
    }

    /// <summary>Makes a block that does not keep the attention weights.</summary>
    /// <param name="options">How it attends.</param>
    /// <exception cref="ArgumentException">An option is out of range, or does not go with another.</exception>
    public DotProductAttention(DotProductAttentionOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), new KeptWeights(false))
    {
    }

    /// <summary>Keeps the options, which nobody changes any more, and shares the weights with the caller.</summary>
    internal DotProductAttention(AttentionOptions options, KeptWeights kept)
        : base(context => NewLayer(context, options), kept)
    {
        this.kept = kept;
        dropout = options.Dropout;
    }

    /// <summary>The attention weights of the last Forward, before dropout: (B, Q, K) or (B, H, Q, K), and (B * H, Q, K)
    /// inside a <see cref="MultiHeadAttention"/>, heads of one batch item together. Null before the first one, and
    /// while they are not kept. They belong to the manager of that call's queries, and are valid until the next
    /// Forward, which disposes them, or until <see cref="KeepAttentionWeights"/> is set to false: copy out what is
    /// needed for longer.</summary>
    public NDArray? AttentionWeights => kept.Array;

    /// <summary>Whether each Forward of a list computes and keeps the attention weights. The result is the same. Those
    /// of the last Forward are disposed when they are no longer kept.</summary>
    public bool KeepAttentionWeights
    {
        get => kept.On;
        set => kept.On = value;
    }

    internal override string Kind => nameof(DotProductAttention);

    /// <summary>Says what the block is.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"DotProductAttention(dropout={dropout.ToString(CultureInfo.InvariantCulture)})";

    private static NativeLayer NewLayer(NativeContext context, AttentionOptions options) =>
        NativeLayer.DotProductAttention(
            context, options.Scale, options.SoftCap, options.Dropout, (int)options.Causal, (int)options.Window,
            options.WindowLeft, options.WindowRight, (int)options.EmptyRows);
}
