// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Additive attention (Bahdanau et al., 2014), with d2l-java's constructor and calls: a query q and a key k,
/// whose sizes may differ, score w_v . tanh(W_q q + W_k k). Forward takes queries (B, Q, Eq), keys (B, K, Ek) and
/// values (B, K, Ev), all Float32, Float16 or BFloat16, and the valid lengths (B) or (B, Q) of Float32, Int32 or Int64,
/// which may be missing or null: with length n, a query attends to the first n keys. It gives one array
/// (B, Q, Ev).</summary>
/// <remarks>Its parameters are W_q.weight (numHiddens, Eq), W_k.weight (numHiddens, Ek) and w_v.weight (1,
/// numHiddens).</remarks>
public sealed class AdditiveAttention : NativeBlock
{
    private readonly KeptWeights kept;
    private readonly long numHiddens;
    private readonly float dropout;

    /// <summary>Makes a block without values for its parameters, which keeps the attention weights of the last Forward,
    /// as d2l's does.</summary>
    /// <param name="numHiddens">The size to which queries and keys are projected, 1 or more.</param>
    /// <param name="dropout">The probability, from 0 to below 1, that an attention weight is dropped when
    /// training.</param>
    /// <exception cref="ArgumentException">An argument is out of range.</exception>
    public AdditiveAttention(long numHiddens, float dropout = 0)
        : this(new AdditiveAttentionOptions { NumHiddens = numHiddens, Dropout = dropout }, new KeptWeights(true))
    {
    }

    /// <summary>Makes a block without values for its parameters, which does not keep the attention weights.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range, or cannot be combined with another.</exception>
    public AdditiveAttention(AdditiveAttentionOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), new KeptWeights(false))
    {
    }

    private AdditiveAttention(AdditiveAttentionOptions options, KeptWeights kept)
        : base(options.NewLayer, kept)
    {
        this.kept = kept;
        numHiddens = options.NumHiddens;
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

    internal override string Kind => nameof(AdditiveAttention);

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"AdditiveAttention(numHiddens={numHiddens}, dropout={dropout})";
}
