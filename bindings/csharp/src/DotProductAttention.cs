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
    private static readonly DotProductAttentionOptions Defaults = new DotProductAttentionOptions();

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
    /// inside a <see cref="MultiHeadAttention"/>, heads of one batch element together. Null before the first one, and
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

    /// <summary>Attends in one call, without a block and with the default options: scores are divided by the square root
    /// of the size of a query, and every query attends to every key.</summary>
    /// <param name="queries">(B, Q, D) or (B, H, Q, D) of Float32, Float16 or BFloat16.</param>
    /// <param name="keys">(B, K, D) or (B, H, K, D) of the queries' type; fewer heads, by a divisor, serve several of
    /// the queries' each.</param>
    /// <param name="values">(B, K, Dv) or (B, H, K, Dv), likewise.</param>
    /// <returns>A new array (B, Q, Dv) or (B, H, Q, Dv) of the queries' type, which belongs to the queries'
    /// manager.</returns>
    /// <exception cref="ArgumentException">Sizes or types do not fit.</exception>
    /// <exception cref="ObjectDisposedException">An array or its manager is disposed.</exception>
    public static NDArray ScaledDotProductAttention(NDArray queries, NDArray keys, NDArray values)
    {
        _ = queries ?? throw new ArgumentNullException(nameof(queries));
        _ = keys ?? throw new ArgumentNullException(nameof(keys));
        _ = values ?? throw new ArgumentNullException(nameof(values));
        NativeTensor q = NDArray.TensorOf(queries, nameof(queries))!;
        NativeTensor k = NDArray.TensorOf(keys, nameof(keys))!;
        NativeTensor v = NDArray.TensorOf(values, nameof(values))!;
        long[] dims = queries.Shape.ToArray();
        if (dims.Length > 0 && values.Shape.Dimension > 0)
        {
            dims[dims.Length - 1] = values.Shape.Tail;
        }
        NDManager manager = queries.Manager;
        return manager.NewArray(
            new Shape(dims),
            queries.DataType,
            output =>
            {
                using LayerCall call = LayerCall.Begin();
                call.Dropout(false, 0).Read(q, k, v).Write(output, null);
                call.ScaledDotProductAttention(manager.OpenContext(), Defaults);
            });
    }

    /// <summary>Attends in one call, without a block, into arrays that are there: lengths, mask, bias and all options,
    /// and as outputs the attention weights and the logarithms of the sums, too. The results are those of a block with
    /// these options, to the bit.</summary>
    /// <param name="inputs">What is read.</param>
    /// <param name="outputs">What is written: at least one array.</param>
    /// <param name="options">How it attends; null: the defaults.</param>
    /// <exception cref="ArgumentException">Sizes, types, lengths or options do not fit, no output is given, one shares
    /// memory with another array, or the inputs are for training and have no seed, which only a block could
    /// draw.</exception>
    /// <exception cref="ObjectDisposedException">An array or its manager is disposed.</exception>
    public static void ScaledDotProductAttention(
        AttentionInputs inputs, AttentionOutputs outputs, DotProductAttentionOptions? options = null)
    {
        _ = inputs ?? throw new ArgumentNullException(nameof(inputs));
        _ = outputs ?? throw new ArgumentNullException(nameof(outputs));
        NDArray queries = inputs.Queries ?? throw new ArgumentException("inputs have no Queries", nameof(inputs));
        if (inputs.Training && inputs.DropoutSeed is null)
        {
            throw new ArgumentException(
                "inputs are for training and have no DropoutSeed, expected one: there is no block to draw it",
                nameof(inputs));
        }
        NativeContext context = queries.Manager.OpenContext();
        using LayerCall call = LayerCall.Begin();
        call.Dropout(inputs.Training, inputs.DropoutSeed ?? 0).Read(inputs).Write(outputs);
        call.ScaledDotProductAttention(context, options ?? Defaults);
    }

    /// <summary>Says what the block is.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"DotProductAttention(dropout={dropout.ToString(CultureInfo.InvariantCulture)})";

    private static NativeLayer NewLayer(NativeContext context, AttentionOptions options)
    {
        using var members = new NativeDotProductAttentionOptions();
        options.Fill(members);
        return HeedNative.HeedDotProductAttentionCreate(context, members);
    }
}
