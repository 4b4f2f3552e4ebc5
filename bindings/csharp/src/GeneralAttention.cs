// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Attention with the general score of Luong et al. (2015): a query q and a key k, whose sizes may differ,
/// score q . (W k). Values are not projected. Forward takes queries (B, Q, querySize), keys (B, K, Ek) and values
/// (B, K, Ev), all Float32, Float16 or BFloat16, and the valid lengths (B) or (B, Q) of Float32, Int32 or Int64, which
/// may be missing or null: with length n, a query attends to the first n keys. It gives one array (B, Q, Ev).</summary>
/// <remarks>Its parameter is W.weight (querySize, Ek).</remarks>
public sealed class GeneralAttention : NativeBlock
{
    private readonly KeptWeights kept;
    private readonly long querySize;
    private readonly float dropout;

    /// <summary>Makes a block without a value for its parameter, which keeps the attention weights of the last
    /// Forward.</summary>
    /// <param name="querySize">The size of a query, to which keys are projected, 1 or more.</param>
    /// <param name="dropout">The probability, from 0 to below 1, that an attention weight is dropped when
    /// training.</param>
    /// <exception cref="ArgumentException">An argument is out of range.</exception>
    public GeneralAttention(long querySize, float dropout = 0)
        : this(new GeneralAttentionOptions { QuerySize = querySize, Dropout = dropout }, new KeptWeights(true))
    {
    }

    /// <summary>Makes a block without a value for its parameter, which does not keep the attention weights.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range, or cannot be combined with another.</exception>
    public GeneralAttention(GeneralAttentionOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), new KeptWeights(false))
    {
    }

    private GeneralAttention(GeneralAttentionOptions options, KeptWeights kept)
        : base(options.NewLayer, kept)
    {
        this.kept = kept;
        querySize = options.QuerySize;
        dropout = options.Dropout;
    }

    /// <summary>The attention weights (B, Q, K) of the last Forward, before dropout. Null before the first Forward, and
    /// while they are not kept. They belong to the manager of that call's queries. The next Forward disposes them, and
    /// so does setting <see cref="KeepAttentionWeights"/> to false: copy them to keep them longer.</summary>
    public NDArray? AttentionWeights => kept.Array;

    /// <summary>Whether each Forward that takes an NDList computes and keeps the attention weights. This does not
    /// change the output. Setting it to false disposes those of the last Forward.</summary>
    public bool KeepAttentionWeights
    {
        get => kept.On;
        set => kept.On = value;
    }

    internal override string Kind => nameof(GeneralAttention);

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"GeneralAttention(querySize={querySize}, dropout={dropout})";
}
