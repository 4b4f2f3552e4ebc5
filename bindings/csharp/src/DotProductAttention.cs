// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>Scaled dot-product attention, softmax(scale * Q K^T) V (Vaswani et al., "Attention Is All You Need", 2017),
/// with d2l-java's constructor and calls. Forward takes queries (B, Q, D), keys (B, K, D) and values (B, K, Dv), or
/// (B, H, Q, D), (B, Hkv, K, D) and (B, Hkv, K, Dv), where the number of key heads Hkv divides H. All are
/// Float32, Float16 or BFloat16. The valid lengths (B) or (B, Q) of Float32, Int32 or Int64 may be missing or null:
/// with length n, a query attends to the first n keys. It gives one array (B, Q, Dv) or (B, H, Q, Dv).</summary>
/// <remarks>It has no parameters and need not be initialized.</remarks>
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
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range, or cannot be combined with another.</exception>
    public DotProductAttention(DotProductAttentionOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), new KeptWeights(false))
    {
    }

    /// <summary>Uses the options without a copy, since no caller changes them, and shares the kept weights with the
    /// caller.</summary>
    internal DotProductAttention(AttentionOptions options, KeptWeights kept)
        : base(context => NewLayer(context, options), kept)
    {
        this.kept = kept;
        dropout = options.Dropout;
    }

    /// <summary>The attention weights of the last Forward, before dropout: (B, Q, K) or (B, H, Q, K); inside a
    /// <see cref="MultiHeadAttention"/> (B * H, Q, K), with the heads of a batch element next to each other. Null
    /// before the first Forward, and while they are not kept. They belong to the manager of that call's queries. The
    /// next Forward disposes them, and so does setting <see cref="KeepAttentionWeights"/> to false: copy them to keep
    /// them longer.</summary>
    public NDArray? AttentionWeights => kept.Array;

    /// <summary>Whether each Forward that takes an NDList computes and keeps the attention weights. This does not
    /// change the output. Setting it to false disposes those of the last Forward.</summary>
    public bool KeepAttentionWeights
    {
        get => kept.On;
        set => kept.On = value;
    }

    internal override string Kind => nameof(DotProductAttention);

    /// <summary>Computes attention in one call, without a block and with the default options: scores are divided by the
    /// square root of the size of a query, and every query attends to every key.</summary>
    /// <param name="queries">(B, Q, D) or (B, H, Q, D) of Float32, Float16 or BFloat16.</param>
    /// <param name="keys">(B, K, D) or (B, Hkv, K, D) of the queries' type. Hkv divides H; if it is less, several query
    /// heads share a key head.</param>
    /// <param name="values">(B, K, Dv) or (B, Hkv, K, Dv), with as many heads as the keys.</param>
    /// <param name="stop">Stops the call.</param>
    /// <returns>A new array (B, Q, Dv) or (B, H, Q, Dv) of the queries' type, which belongs to the queries'
    /// manager.</returns>
    /// <exception cref="ArgumentException">Sizes or types do not fit.</exception>
    /// <exception cref="ObjectDisposedException">An array or its manager is disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static NDArray ScaledDotProductAttention(
        NDArray queries, NDArray keys, NDArray values, CancellationToken stop = default)
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
        if (Tape.For(nameof(ScaledDotProductAttention), queries, keys, values) != null)
        {
            return new DotProductAttention(Defaults).Forward(new AttentionInputs(queries, keys, values), stop);
        }
        NDManager manager = queries.Manager;
        return manager.NewArray(
            new Shape(dims),
            queries.DataType,
            output => StoppableCall.With(stop, () =>
            {
                using LayerCall call = LayerCall.Begin();
                call.Dropout(false, 0).Read(q, k, v).Write(output, null);
                call.ScaledDotProductAttention(manager.OpenContext(), Defaults);
            }));
    }

    /// <summary>Computes attention in one call, without a block, into existing arrays. It reads lengths, mask, bias and
    /// all options, and can also write the attention weights and the log-sum-exp. The results have the same bits as
    /// those of a block with these options.</summary>
    /// <param name="inputs">The inputs.</param>
    /// <param name="outputs">The outputs: at least one array.</param>
    /// <param name="options">The options; null: the defaults.</param>
    /// <param name="stop">Stops the call, whose outputs are undefined then.</param>
    /// <exception cref="ArgumentException">Sizes, types, lengths or options do not fit, no output is set, an output
    /// shares memory with another array, or the inputs are for training and have no seed, since there is no block to
    /// draw one.</exception>
    /// <exception cref="ObjectDisposedException">An array or its manager is disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static void ScaledDotProductAttention(
        AttentionInputs inputs, AttentionOutputs outputs, DotProductAttentionOptions? options = null,
        CancellationToken stop = default)
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
        if (Tape.For(nameof(ScaledDotProductAttention), inputs.Arrays) != null)
        {
            throw Tape.IntoExisting(nameof(ScaledDotProductAttention));
        }
        NativeContext context = queries.Manager.OpenContext();
        StoppableCall.With(stop, () =>
        {
            using LayerCall call = LayerCall.Begin();
            call.Dropout(inputs.Training, inputs.DropoutSeed ?? 0).Read(inputs).Write(outputs);
            call.ScaledDotProductAttention(context, options ?? Defaults);
            outputs.CountWrites();
        });
    }

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"DotProductAttention(dropout={dropout})";

    private static NativeLayer NewLayer(NativeContext context, AttentionOptions options)
    {
        using var members = new NativeDotProductAttentionOptions();
        options.Fill(members);
        return HeedNative.HeedDotProductAttentionCreate(context, members);
    }
}
