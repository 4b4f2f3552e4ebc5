// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Members that are written by hand; others are generated from bindings/described.</content>
public sealed partial class MultiHeadAttention : NativeBlock
{
    private readonly KeptWeights kept;
    private readonly MultiHeadAttentionOptions options;

    /// <summary>Makes a block without values for its parameters, which keeps the attention weights of the last Forward,
    /// as d2l's does.</summary>
    /// <param name="numHiddens">The size of the output, a multiple of numHeads.</param>
    /// <param name="numHeads">The number of heads H.</param>
    /// <param name="dropout">The probability, from 0 to below 1, that an attention weight is dropped when
    /// training.</param>
    /// <param name="useBias">Whether the four projections add a bias.</param>
    /// <exception cref="ArgumentException">An argument is out of range, or numHiddens is not a multiple of
    /// numHeads.</exception>
    public MultiHeadAttention(long numHiddens, long numHeads, float dropout = 0, bool useBias = false)
        : this(
            new MultiHeadAttentionOptions
            {
                NumHiddens = numHiddens,
                NumHeads = numHeads,
                Dropout = dropout,
                Biases = useBias ? Bias.All : Bias.None,
            },
            new KeptWeights(true))
    {
    }

    /// <summary>Makes a block without values for its parameters, which does not keep the attention weights.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range, or cannot be combined with another.</exception>
    public MultiHeadAttention(MultiHeadAttentionOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), new KeptWeights(false))
    {
    }

    /// <summary>Makes a child of another block.</summary>
    internal MultiHeadAttention(MultiHeadAttentionOptions options, ChildPath path)
        : this(options, new KeptWeights(false), path)
    {
    }

    private MultiHeadAttention(MultiHeadAttentionOptions options, KeptWeights kept, ChildPath? path = null)
        : base(options.NewLayer, kept, path)
    {
        this.kept = kept;
        this.options = options;
        Attention = new DotProductAttention(options, kept);
    }

    /// <summary>The dot-product attention of this block. It has the attention weights (B * H, Q, K) of the last
    /// Forward, with the heads of a batch element next to each other. Called by itself, it computes attention with
    /// those of the same options that it has, without projections. It is disposed with this block.</summary>
    public DotProductAttention Attention { get; }

    /// <summary>Whether each Forward that takes an NDList computes and keeps the attention weights, which have
    /// B * H * Q * K elements. This does not change the output. Setting it to false disposes those of the last
    /// Forward.</summary>
    public bool KeepAttentionWeights
    {
        get => kept.On;
        set => kept.On = value;
    }

    /// <inheritdoc/>
    public override void Dispose()
    {
        base.Dispose();
        Attention.Dispose();
    }

    /// <summary>Returns a view (B * H, Q, K) of weights (B, H, Q, K).</summary>
    private protected override unsafe NativeTensor ToKeep(NativeTensor weights)
    {
        long* dims = stackalloc long[] { weights.Dim(0) * weights.Dim(1), weights.Dim(2), weights.Dim(3) };
        NativeTensor view = weights.Reshape(3, dims);
        weights.Dispose();
        return view;
    }
}
