// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>What calls with a cache give, and what the methods of a cache do with its rows. Results that must be the
/// same are compared bit by bit.</summary>
public sealed class KvCacheTests : IDisposable
{
    private readonly CacheScene scene = new CacheScene();

    public void Dispose() => scene.Dispose();

    [Fact]
    public void StepsGiveWhatTheWholeSequenceGives()
    {
        const int numRows = 20;
        NDArray x = scene.NewRows(numRows);
        float[] ofContiguous = scene.Append(scene.NewCache(), x, 0);
        CacheScene.Near(scene.Output(new AttentionInputs(x)), ofContiguous);
        foreach (CacheLayout layout in Enum.GetValues<CacheLayout>())
        {
            KvCache cache = scene.NewCache(layout);
            Assert.Equal(ofContiguous, scene.Append(cache, x, 0));
            var found = new List<float>(scene.Append(cache, x.Slice(1, 0, 7), 2));
            for (int row = 7; row < numRows; row++)
            {
                found.AddRange(scene.Append(cache, x.Slice(1, row, 1), 2));
                Assert.Equal(row + 1, cache.Length(2));
            }
            Assert.Equal(ofContiguous, found.ToArray());
            Assert.Equal(new long[] { numRows, 0, numRows }, Lengths(cache));
            Assert.Equal(0, cache.First(2));
        }
    }

    /// <summary>Prompts of two lengths, padded and packed, then a row for each of two sequences in one call.</summary>
    [Fact]
    public void EachElementHasItsSequence()
    {
        NDArray x = scene.Manager.RandomNormal(new Shape(2, 6, CacheScene.Size));
        NDArray first = x.Slice(0, 0, 1);
        NDArray second = x.Slice(0, 1, 1);
        KvCache alone = scene.NewCache();
        float[] ofFirst = scene.Append(alone, first.Slice(1, 0, 5), 0);
        float[] ofSecond = scene.Append(alone, second.Slice(1, 0, 2), 1);

        KvCache padded = scene.NewCache(CacheLayout.Paged);
        float[] found = scene.Output(new AttentionInputs(x.Slice(1, 0, 5))
        {
            Cache = padded, Sequences = new long[] { 2, 0 }, QueryLens = scene.Manager.Create(new[] { 5, 2 }),
        });
        Assert.Equal(ofFirst, CacheScene.Part(found, 0, 5));
        Assert.Equal(ofSecond, CacheScene.Part(found, 5, 2));
        Assert.Equal(new long[] { 2, 0, 5 }, Lengths(padded));

        KvCache packed = scene.NewCache(CacheLayout.Paged);
        float[] rows = first.Slice(1, 0, 5).ToFloatArray().Concat(second.Slice(1, 0, 2).ToFloatArray()).ToArray();
        found = scene.Output(new AttentionInputs(scene.Manager.Create(rows, new Shape(7, CacheScene.Size)))
        {
            Cache = packed, Sequences = new long[] { 2, 0 }, QueryOffsets = scene.Manager.Create(new[] { 0, 5, 7 }),
        });
        Assert.Equal(ofFirst.Concat(ofSecond), found);

        float[] step = first.Slice(1, 5, 1).ToFloatArray().Concat(second.Slice(1, 2, 1).ToFloatArray()).ToArray();
        float[] expected = scene.Append(alone, first.Slice(1, 5, 1), 0)
            .Concat(scene.Append(alone, second.Slice(1, 2, 1), 1)).ToArray();
        foreach (KvCache cache in new[] { padded, packed })
        {
            NDArray both = scene.Manager.Create(step, new Shape(2, 1, CacheScene.Size));
            Assert.Equal(expected, scene.Append(cache, both, 2, 0));
        }
    }

    /// <summary>Without numbers, batch element b is sequence b. One object of inputs serves batches of any
    /// size.</summary>
    [Fact]
    public void NumbersOfSequencesMayChange()
    {
        KvCache cache = scene.NewCache();
        NDArray x = scene.Manager.RandomNormal(new Shape(2, 3, CacheScene.Size));
        var inputs = new AttentionInputs(x) { Cache = cache };
        Assert.Null(inputs.Sequences);
        float[] expected = scene.Output(inputs);
        Assert.Equal(new long[] { 3, 3, 0 }, Lengths(cache));

        var numbers = new long[] { 2, 1 };
        inputs.Sequences = numbers;
        cache.Rewind(1, 0);
        Assert.Equal(expected, scene.Output(inputs));
        Assert.Equal(new long[] { 3, 3, 3 }, Lengths(cache));

        // The numbers were copied, and so are those that are returned.
        numbers[0] = 99;
        inputs.Sequences![1] = 99;
        Assert.Equal(new long[] { 2, 1 }, inputs.Sequences!);
        cache.Rewind(1, 0);
        cache.Rewind(2, 0);
        Assert.Equal(expected, scene.Output(inputs));

        inputs.Sequences = new long[] { 0, 2 };
        cache.Rewind(0, 0);
        cache.Rewind(2, 0);
        Assert.Equal(expected, scene.Output(inputs));
        inputs.Queries = x.Slice(0, 1, 1);
        inputs.Sequences = new long[] { 1 };
        cache.Rewind(1, 0);
        Assert.Equal(CacheScene.Part(expected, 3, 3), scene.Output(inputs));
    }

    /// <summary>The length counts the rows that all layers have.</summary>
    [Fact]
    public void EachLayerHasItsRows()
    {
        using MultiHeadAttention other = scene.NewAttention(null);
        KvCache cache = scene.NewCache(CacheLayout.Paged, options => options.NumLayers = 2);
        NDArray x = scene.NewRows(4);
        var inputs = new AttentionInputs(x) { Cache = cache };
        float[] ofFirst = scene.Output(inputs);
        Assert.Equal(0, cache.Length(0));
        inputs.CacheLayer = 1;
        float[] ofSecond = CacheScene.Output(other, inputs);
        Assert.Equal(4, cache.Length(0));
        Assert.Equal(scene.Append(scene.NewCache(), x, 0), ofFirst);
        Assert.NotEqual(ofFirst, ofSecond);
        Assert.False(cache.Read(0, 0).Values.ContentEquals(cache.Read(1, 0).Values));

        // A layer that is ahead of the others is read with all its rows.
        scene.Append(cache, x, 0);
        Assert.Equal(4, cache.Length(0));
        Assert.Equal(8, cache.Read(0, 0).Keys.Shape[1]);
        Assert.Equal(4, cache.Read(1, 0).Keys.Shape[1]);
        cache.Rewind(0, 4);
        Assert.Equal(4, cache.Read(0, 0).Keys.Shape[1]);
    }

    /// <summary>Cross attention to a memory that was filled before.</summary>
    [Fact]
    public void ReadingAttendsToTheRows()
    {
        using var cross = new CacheScene(options =>
        {
            options.Causal = Causal.None;
            options.Rope = null;
        });
        NDArray memory = cross.NewRows(9);
        NDArray queries = cross.NewRows(2);
        KvCache cache = cross.NewCache();
        var fill = new AttentionInputs(keys: memory) { Cache = cache, Sequences = new long[] { 1 } };
        long needed = cross.Attention.WorkspaceSize(fill, new AttentionOutputs());
        cross.Attention.FillCache(fill, cross.Manager.NewWorkspace(needed));
        Assert.Equal(new long[] { 0, 9, 0 }, Lengths(cache));

        var read = new AttentionInputs(queries)
        {
            Cache = cache, Sequences = new long[] { 1 }, CacheUse = CacheUse.Read,
        };
        float[] found = cross.Output(read);
        CacheScene.Near(cross.Output(new AttentionInputs(queries, memory)), found);
        Assert.Equal(found, cross.Output(read));
        Assert.Equal(9, cache.Length(1));

        // Two elements may read one sequence.
        read.Queries = cross.Manager.Create(
            queries.ToFloatArray().Concat(queries.ToFloatArray()).ToArray(), new Shape(2, 2, CacheScene.Size));
        read.Sequences = new long[] { 1, 1 };
        Assert.Equal(found.Concat(found), cross.Output(read));

        // Queries without keys are the rows; only the first of them are appended.
        fill.Clear();
        fill.Queries = memory;
        fill.Cache = cache;
        fill.QueryLens = cross.Manager.Create(new[] { 4 });
        using AttentionOutputs outputs = cross.Attention.CreateOutputs(
            fill, Wanted.Output | Wanted.Weights | Wanted.LogSumExp);
        cross.Attention.FillCache(fill, cross.Manager.NewWorkspace(cross.Attention.WorkspaceSize(fill, outputs)));
        Assert.Equal(new long[] { 4, 9, 0 }, Lengths(cache));
        Assert.True(cache.Read(0, 0).Keys.ContentEquals(cache.Read(0, 1).Keys.Slice(1, 0, 4)));
    }

    /// <summary>Each query sees the last rows, and the sinks, as with a mask of them.</summary>
    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    public void ARingKeepsTheLastRowsAndTheSinks(int numSinks)
    {
        const int numRows = 200;
        const int capacity = 4;
        KvCache cache = scene.NewCache(
            CacheLayout.Ring, options => (options.Capacity, options.NumSinks) = (capacity, numSinks));
        NDArray x = scene.NewRows(numRows);
        var found = new List<float>();
        for (int row = 0; row < numRows; row += 20)
        {
            found.AddRange(scene.Append(cache, x.Slice(1, row, 20), 0));
        }
        bool[] isSeen = Enumerable.Range(0, numRows)
            .SelectMany(i => Enumerable.Range(0, numRows).Select(j => j < numSinks || j > i - capacity)).ToArray();
        CacheScene.Near(
            scene.Output(new AttentionInputs(x)
            {
                Mask = scene.Manager.Create(isSeen, new Shape(numRows, numRows)),
            }),
            found.ToArray());

        Assert.Equal(numRows, cache.Length(0));
        long first = cache.First(0);
        Assert.InRange(first, numRows - capacity - 79, numRows - capacity);
        Assert.Equal(
            new Shape(CacheScene.NumKvHeads, numSinks + numRows - first, CacheScene.HeadSize),
            cache.Read(0, 0).Keys.Shape);

        // As long as the rows of the last query are kept, later rows can be dropped.
        cache.Rewind(0, numRows - 5);
        Assert.Equal(
            CacheScene.Part(found.ToArray(), numRows - 5, 5), scene.Append(cache, x.Slice(1, numRows - 5, 5), 0));
        Assert.ThrowsAny<ArgumentException>(() => cache.Rewind(0, capacity));
        Assert.Equal(numRows, cache.Length(0));
        cache.Rewind(0, 0);
        Assert.Equal(CacheScene.Part(found.ToArray(), 0, 1), scene.Append(cache, x.Slice(1, 0, 1), 0));
    }

    [Fact]
    public void ForksSharePagesUntilTheyWrite()
    {
        const int numRows = 20;
        KvCache cache = scene.NewCache(CacheLayout.Paged);
        NDArray x = scene.NewRows(numRows);
        float[] whole = scene.Append(cache, x, 0);
        Assert.Equal(10, cache.FreePages);
        cache.Fork(0, 18, 1);
        Assert.Equal(new long[] { numRows, 18, 0 }, Lengths(cache));
        Assert.Equal(10, cache.FreePages);
        Assert.Equal(CacheScene.Part(whole, 18, 2), scene.Append(cache, x.Slice(1, 18, 2), 1));
        Assert.Equal(9, cache.FreePages);

        // What one of them appends, the other does not see.
        NDArray other = scene.NewRows(1);
        cache.Rewind(1, 18);
        Assert.NotEqual(CacheScene.Part(whole, 18, 1), scene.Append(cache, other, 1));
        cache.Rewind(0, 19);
        Assert.Equal(CacheScene.Part(whole, 19, 1), scene.Append(cache, x.Slice(1, 19, 1), 0));

        cache.Fork(0, 3, 0);
        Assert.Equal(3, cache.Length(0));
        cache.Rewind(0, 0);
        cache.Rewind(1, 0);
        Assert.Equal(12, cache.FreePages);
    }

    [Fact]
    public void ReservedPagesAreTheSequences()
    {
        KvCache cache = scene.NewCache(CacheLayout.Paged);
        cache.Reserve(0, 33);
        Assert.Equal(9, cache.FreePages);
        cache.Reserve(0, 5);
        Assert.Equal(9, cache.FreePages);
        Assert.Equal(0, cache.Length(0));
        scene.Append(cache, scene.NewRows(33), 0);
        Assert.Equal(9, cache.FreePages);
        cache.Rewind(0, 0);
        Assert.Equal(12, cache.FreePages);
    }

    [Fact]
    public void BeamsAreReordered()
    {
        foreach (CacheLayout layout in Enum.GetValues<CacheLayout>())
        {
            KvCache cache = scene.NewCache(layout);
            scene.Append(cache, scene.NewRows(5), 0);
            scene.Append(cache, scene.NewRows(3), 1);
            NDArray ofFirst = cache.Read(0, 0).Keys;
            NDArray ofSecond = cache.Read(0, 1).Keys;
            cache.Reorder(1, 0, 1);
            Assert.Equal(new long[] { 3, 5, 3 }, Lengths(cache));
            Assert.True(cache.Read(0, 0).Keys.ContentEquals(ofSecond));
            Assert.True(cache.Read(0, 1).Keys.ContentEquals(ofFirst));

            NDArray step = scene.NewRows(1);
            Assert.Equal(scene.Append(cache, step, 0), scene.Append(cache, step, 2));
            cache.Reorder();
            cache.Reorder(new ReadOnlySpan<long>(new long[] { 9, 1, 9 }, 1, 1));
            Assert.Equal(new long[] { 5, 5, 4 }, Lengths(cache));
        }
    }

    [Fact]
    public void AcceptedRowsMoveTogether()
    {
        KvCache cache = scene.NewCache(CacheLayout.Paged);
        scene.Append(cache, scene.NewRows(10), 0);
        (NDArray keys, NDArray values) = cache.Read(0, 0);
        cache.Accept(0, 6, 1, 3);
        Assert.Equal(8, cache.Length(0));
        HasRows(cache, keys, values, 0, 1, 2, 3, 4, 5, 7, 9);
        cache.Accept(0, 6, new ReadOnlySpan<long>(new long[] { 1 }));
        HasRows(cache, keys, values, 0, 1, 2, 3, 4, 5, 9);
        cache.Accept(0, 6);
        HasRows(cache, keys, values, 0, 1, 2, 3, 4, 5);
    }

    [Fact]
    public void DiscardedRowsLeaveAGapOrNone()
    {
        NDArray x = scene.NewRows(9);
        KvCache cache = scene.NewCache();
        scene.Append(cache, x.Slice(1, 0, 8), 0);
        (NDArray keys, NDArray values) = cache.Read(0, 0);
        cache.Discard(0, 2, 3);
        HasRows(cache, keys, values, 0, 1, 5, 6, 7);

        // Without rounding, as if the rows had never been there.
        KvCache unrotated = scene.NewCache(set: options => options.UnrotatedKeys = true);
        scene.Append(unrotated, x.Slice(1, 0, 8), 0);
        unrotated.Discard(0, 2, 3, renumber: true);
        scene.Append(unrotated, x.Slice(1, 0, 2), 1);
        scene.Append(unrotated, x.Slice(1, 5, 3), 1);
        float[] expected = scene.Append(unrotated, x.Slice(1, 8, 1), 1);
        Assert.Equal(expected, scene.Append(unrotated, x.Slice(1, 8, 1), 0));
        Assert.NotEqual(expected, scene.Append(cache, x.Slice(1, 8, 1), 0));
    }

    /// <summary>Values are the first elements of each row.</summary>
    [Theory]
    [InlineData(DataType.Float32, DataType.Float32)]
    [InlineData(DataType.Float16, DataType.Float16)]
    [InlineData(DataType.BFloat16, DataType.BFloat16)]
    [InlineData(DataType.Int8, DataType.Float32)]
    public void RowsCanBeRead(DataType kept, DataType read)
    {
        const int numRows = 3;
        const int valueSize = CacheScene.NumKvHeads * CacheScene.HeadSize;
        var identity = new float[valueSize * CacheScene.Size];
        for (int i = 0; i < valueSize; i++)
        {
            identity[(i * CacheScene.Size) + i] = 1;
        }
        scene.Attention.Parameters["W_v.weight"].SetArray(
            scene.Manager.Create(identity, new Shape(valueSize, CacheScene.Size)));

        // Whole numbers up to 127, whose largest one in each head gives the scale 1.
        var rows = new float[numRows * CacheScene.Size];
        for (int i = 0; i < rows.Length; i++)
        {
            rows[i] = i % CacheScene.HeadSize == 0 ? 127 : i;
        }
        KvCache cache = scene.NewCache(CacheLayout.Paged, options => options.DataType = kept);
        scene.Append(cache, scene.Manager.Create(rows, new Shape(1, numRows, CacheScene.Size)), 2);
        (NDArray keys, NDArray values) = cache.Read(0, 2);
        Assert.Equal(new Shape(CacheScene.NumKvHeads, numRows, CacheScene.HeadSize), keys.Shape);
        Assert.Equal(keys.Shape, values.Shape);
        Assert.Equal(read, keys.DataType);
        Assert.Equal(read, values.DataType);
        Assert.Same(scene.Manager, values.Manager);
        for (int row = 0; row < numRows; row++)
        {
            float[] found = values.Slice(1, row, 1).ToFloatArray();
            Assert.Equal(rows.Skip(row * CacheScene.Size).Take(valueSize), found);
        }
    }

    /// <summary>A sequence that was saved goes on in other caches, with the same bits.</summary>
    [Fact]
    public void SequencesAreSavedAndLoaded()
    {
        using var folder = new TestFolder();
        string file = folder["sequence.safetensors"];
        NDArray x = scene.NewRows(9);
        KvCache cache = scene.NewCache();
        scene.Append(cache, x.Slice(1, 0, 8), 1);
        cache.Save(1, file);
        byte[] bytes = cache.ToBytes(1);
        Assert.Equal(File.ReadAllBytes(file), bytes);
        Assert.Equal(
            new Shape(CacheScene.NumKvHeads, 8, CacheScene.HeadSize),
            scene.Manager.Load(file, "layers.0.keys").Shape);
        float[] expected = scene.Append(cache, x.Slice(1, 8, 1), 1);

        KvCache paged = scene.NewCache(
            CacheLayout.Paged, options => (options.PageSize, options.NumPages, options.MaxSequences) = (32, 5, 4));
        scene.Append(paged, scene.NewRows(40), 3);
        paged.Load(3, file);
        Assert.Equal(4, paged.FreePages);
        KvCache ring = scene.NewCache(CacheLayout.Ring);
        ring.Load(0, bytes);
        Assert.Equal(8, paged.Length(3));
        Assert.Equal(8, ring.Length(0));
        Assert.Equal(expected, scene.Append(paged, x.Slice(1, 8, 1), 3));
        Assert.Equal(expected, scene.Append(ring, x.Slice(1, 8, 1), 0));

        // A sequence without rows.
        KvCache empty = scene.NewCache();
        empty.Load(1, empty.ToBytes(0));
        Assert.Equal(0, empty.Length(1));
    }

    [Fact]
    public void SizesAreTold()
    {
        // Keys and values of Float32.
        const long elements = 3L * 64 * CacheScene.NumKvHeads * 2 * CacheScene.HeadSize * 4;
        KvCache cache = scene.NewCache();
        Assert.InRange(cache.NumBytes, elements, 2 * elements);
        Assert.Equal(3, cache.FreePages);
        Assert.Same(scene.Manager, cache.Manager);
        Assert.Equal($"KvCache Contiguous Float32 {cache.NumBytes} bytes", cache.ToString());
        KvCache larger = scene.NewCache(
            set: options => (options.NumLayers, options.ValueHeadSize) = (3, 3 * CacheScene.HeadSize));
        Assert.InRange(larger.NumBytes, 3 * 2 * elements, 3 * 4 * elements);
        Assert.Equal(1, scene.NewCache(set: options => options.MaxSequences = 0).FreePages);
    }

    /// <summary>A cache has copies of its options.</summary>
    [Fact]
    public void OptionsAreCopied()
    {
        KvCacheOptions? options = null;
        KvCache cache = scene.NewCache(set: given => options = given);
        options!.HeadSize = 3;
        options.DataType = DataType.BFloat16;
        scene.Append(cache, scene.NewRows(2), 0);
        Assert.Equal(CacheScene.HeadSize, cache.Read(0, 0).Keys.Shape[2]);
        Assert.Equal(DataType.Float32, cache.Read(0, 0).Keys.DataType);
    }

    private static long[] Lengths(KvCache cache) => new[] { cache.Length(0), cache.Length(1), cache.Length(2) };

    /// <summary>Sequence 0 has these rows of the keys and values that it had before.</summary>
    private static void HasRows(KvCache cache, NDArray keys, NDArray values, params int[] rows)
    {
        (NDArray keysNow, NDArray valuesNow) = cache.Read(0, 0);
        Assert.Equal(rows.Length, keysNow.Shape[1]);
        for (int row = 0; row < rows.Length; row++)
        {
            Assert.Equal(keys.Slice(1, rows[row], 1).ToFloatArray(), keysNow.Slice(1, row, 1).ToFloatArray());
            Assert.Equal(values.Slice(1, rows[row], 1).ToFloatArray(), valuesNow.Slice(1, row, 1).ToFloatArray());
        }
    }
}
