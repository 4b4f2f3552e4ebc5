// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

namespace Heed.Tests;

/// <summary>An attention of four heads that share the keys of two, with rotary positions and a causal mask, and caches
/// for it.</summary>
internal sealed class CacheScene : IDisposable
{
    internal const int Size = 16;
    internal const int NumKvHeads = 2;
    internal const int HeadSize = 4;

    internal CacheScene(Action<MultiHeadAttentionOptions>? set = null)
    {
        Attention = NewAttention(set);
    }

    internal NDManager Manager { get; } = TestDevice.NewManager();

    internal MultiHeadAttention Attention { get; }

    public void Dispose()
    {
        Attention.Dispose();
        Manager.Dispose();
    }

    /// <summary>Makes another attention, with parameters of its own.</summary>
    internal MultiHeadAttention NewAttention(Action<MultiHeadAttentionOptions>? set)
    {
        var options = new MultiHeadAttentionOptions
        {
            NumHiddens = Size, NumHeads = 4, NumKvHeads = NumKvHeads, Causal = Causal.BottomRight,
            Rope = new RopeOptions { Layout = RopeLayout.Half },
        };
        set?.Invoke(options);
        var made = new MultiHeadAttention(options);
        var shape = new Shape(1, 1, Size);
        made.Initialize(Manager, DataType.Float32, shape, shape, shape);
        return made;
    }

    /// <summary>Makes a cache of three sequences of up to 64 rows; with pages twelve of 16 rows.</summary>
    internal KvCache NewCache(CacheLayout layout = CacheLayout.Contiguous, Action<KvCacheOptions>? set = null)
    {
        var options = new KvCacheOptions
        {
            MaxSequences = 3, NumKvHeads = NumKvHeads, HeadSize = HeadSize, Capacity = 64, Layout = layout,
        };
        if (layout == CacheLayout.Paged)
        {
            options.PageSize = 16;
            options.NumPages = 12;
        }
        set?.Invoke(options);
        return new KvCache(Manager, options);
    }

    /// <summary>Random rows, (1, count, Size).</summary>
    internal NDArray NewRows(int count) => Manager.RandomNormal(new Shape(1, count, Size));

    /// <summary>Appends rows, (B, Q, Size), and returns their outputs.</summary>
    internal float[] Append(KvCache cache, NDArray rows, params long[] sequences) =>
        Output(new AttentionInputs(rows) { Cache = cache, Sequences = sequences });

    internal float[] Output(AttentionInputs inputs) => Output(Attention, inputs);

    internal static float[] Output(NativeBlock block, AttentionInputs inputs)
    {
        using AttentionOutputs outputs = block.CreateOutputs(inputs);
        block.Forward(inputs, outputs);
        return outputs.Output!.ToFloatArray();
    }
}
