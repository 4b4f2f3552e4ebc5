// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>An attention of four heads that share the keys of two, with rotary positions and a causal mask, and caches
/// for it.</summary>
internal sealed class CacheScene : IDisposable
{
    internal const int Size = 16;
    internal const int NumKvHeads = 2;
    internal const int HeadSize = 4;

    /// <summary>How much a call with a cache may differ from one without: scores below 16, with an error of 20
    /// roundings, change a weight by 16 * 20 * 2^-24 of itself, and outputs are below 8.</summary>
    private const float Rounding = 16f * 20 * 8 / (1 << 24);

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

    /// <summary>The outputs of some rows, out of those of all rows of a batch of one.</summary>
    internal static float[] Part(float[] outputs, int first, int count) =>
        outputs.Skip(first * Size).Take(count * Size).ToArray();

    internal static void Near(float[] expected, float[] found)
    {
        Assert.Equal(expected.Length, found.Length);
        Assert.All(found.Zip(expected), pair => Assert.Equal(pair.Second, pair.First, Rounding));
    }
}
