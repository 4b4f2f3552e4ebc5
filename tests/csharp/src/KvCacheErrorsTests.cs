// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text.RegularExpressions;
using Xunit;

namespace Heed.Tests;

/// <summary>What a cache refuses, with C#'s words, and that it is as it was afterwards.</summary>
public sealed class KvCacheErrorsTests : IDisposable
{
    private readonly CacheScene scene = new CacheScene();

    public void Dispose() => scene.Dispose();

    [Fact]
    public void AFullCacheSaysWhatItNeeds()
    {
        KvCache cache = scene.NewCache(CacheLayout.Paged, options => options.NumPages = 2);
        NDArray x = scene.NewRows(40);
        var error = Assert.Throws<CacheFullException>(() => scene.Append(cache, x, 0));
        Assert.Equal(Status.CacheFull, error.Status);
        Assert.Equal((3L, 2L), (error.Needed, error.Free));
        Assert.StartsWith("cache has no room: 3 pages needed, 2 free", error.Message);
        Assert.Equal(0, cache.Length(0));
        Assert.Equal(2, cache.FreePages);
        Assert.IsAssignableFrom<HeedException>(error);

        // The call can be repeated with fewer rows.
        scene.Append(cache, x.Slice(1, 0, 32), 0);
        Assert.Equal(0, cache.FreePages);
        Assert.Throws<CacheFullException>(() => cache.Reserve(1, 1));
        Assert.Throws<CacheFullException>(() => scene.Append(cache, x.Slice(1, 0, 1), 1));
        using var folder = new TestFolder();
        cache.Save(0, folder["sequence"]);
        Assert.Throws<CacheFullException>(() => cache.Load(1, folder["sequence"]));
        Assert.Throws<CacheFullException>(() => cache.Load(1, cache.ToBytes(0)));
        Assert.Equal(32, cache.Length(0));
        Assert.Equal(0, cache.Length(1));

        // A page that is shared must be copied for the first row that is written to it.
        cache.Rewind(0, 17);
        cache.Fork(0, 17, 1);
        Assert.Throws<CacheFullException>(() => scene.Append(cache, x.Slice(1, 0, 1), 1));
        Assert.Throws<CacheFullException>(() => cache.Accept(1, 15, 1));
        Assert.Throws<CacheFullException>(() => cache.Discard(1, 0, 1));
    }

    /// <summary>Without pages, a sequence has room for Capacity rows.</summary>
    [Fact]
    public void AFullSequence()
    {
        KvCache cache = scene.NewCache();
        NDArray x = scene.NewRows(65);
        var error = Assert.Throws<CacheFullException>(() => scene.Append(cache, x, 0));
        Assert.Equal((65L, 64L), (error.Needed, error.Free));
        Assert.Throws<CacheFullException>(() => cache.Reserve(0, 65));
        Assert.Throws<CacheFullException>(
            () => scene.Attention.FillCache(new AttentionInputs(x) { Cache = cache }));
        scene.Append(cache, x.Slice(1, 0, 64), 0);
        Assert.Throws<CacheFullException>(() => scene.Append(cache, x.Slice(1, 64, 1), 0));
        Assert.Equal(64, cache.Length(0));
    }

    [Theory]
    [InlineData("cache has no room: 3 pages needed, 2 free", 3, 2)]
    [InlineData("cache has no room: 3 pages needed, 0 free of 12", 3, 0)]
    [InlineData("cache has no room: 3 pages needed, 2 free, expected more", 3, 2)]
    [InlineData("cache has no room: 20 rows needed, 16 free.", 20, 16)]
    [InlineData("cache has no room: 2147483648 rows needed, 2147483647 free", 2147483648L, 2147483647L)]
    [InlineData("cache has no room: 99999999999999999999 pages needed, 2 free", -1, -1)]
    [InlineData("cache has no room: three pages needed, 2 free", -1, -1)]
    [InlineData("cache has no room: 3 pages needed, -2 free", -1, -1)]
    [InlineData("cache has no room: 3 pages needed, 2 given", -1, -1)]
    [InlineData("cache has no room: 3 pages needed, 2", -1, -1)]
    [InlineData("needed, 2 free", -1, -1)]
    [InlineData("pages needed, 2 free", -1, -1)]
    [InlineData("cache is full", -1, -1)]
    [InlineData("", -1, -1)]
    public void NumbersAreReadFromTheSentence(string sentence, long needed, long free)
    {
        ConstructorInfo constructor =
            typeof(CacheFullException).GetConstructors(BindingFlags.NonPublic | BindingFlags.Instance).Single();
        var error = (CacheFullException)constructor.Invoke(new object[] { sentence });
        Assert.Equal((needed, free), (error.Needed, error.Free));
        Assert.Equal(sentence, error.Message);
        Assert.Equal(Status.CacheFull, error.Status);
    }

    /// <summary>Each option reaches its own member, and is called by its name.</summary>
    [Fact]
    public void OptionsAreNamed()
    {
        foreach ((string name, CacheLayout layout, Action<KvCacheOptions> set) in
            new (string, CacheLayout, Action<KvCacheOptions>)[]
            {
                ("NumLayers", CacheLayout.Contiguous, options => options.NumLayers = -7),
                ("MaxSequences", CacheLayout.Contiguous, options => options.MaxSequences = -7),
                ("NumKvHeads", CacheLayout.Contiguous, options => options.NumKvHeads = 0),
                ("HeadSize", CacheLayout.Contiguous, options => options.HeadSize = 4097),
                ("ValueHeadSize", CacheLayout.Contiguous, options => options.ValueHeadSize = 4097),
                ("Capacity", CacheLayout.Contiguous, options => options.Capacity = 0),
                ("Capacity", CacheLayout.Contiguous, options => options.Capacity = 1L << 31),
                ("NumSinks", CacheLayout.Contiguous, options => options.NumSinks = 1),
                ("NumSinks", CacheLayout.Ring, options => options.NumSinks = -7),
                ("PageSize", CacheLayout.Ring, options => options.PageSize = 16),
                ("PageSize", CacheLayout.Paged, options => options.PageSize = 17),
                ("NumPages", CacheLayout.Contiguous, options => options.NumPages = 1),
                ("NumPages", CacheLayout.Paged, options => options.NumPages = 0),
                ("Layout", (CacheLayout)7, _ => { }),
                ("DataType", CacheLayout.Contiguous, options => options.DataType = DataType.Float64),
            })
        {
            Refused<ArgumentException>(name, () => scene.NewCache(layout, set));
        }
        Refused<ArgumentException>(
            "overflow",
            () => scene.NewCache(set: options =>
                (options.NumKvHeads, options.MaxSequences, options.Capacity) = (int.MaxValue, int.MaxValue, 1 << 30)));
        Refused<NotSupportedException>(
            "UnrotatedKeys", () => scene.NewCache(CacheLayout.Ring, options => options.UnrotatedKeys = true));
        Assert.Throws<OutOfMemoryException>(
            () => scene.NewCache(set: options => (options.NumKvHeads, options.HeadSize) = (1L << 28, 4096)));
        Assert.Throws<ArgumentNullException>("manager", () => new KvCache(null!, new KvCacheOptions()));
        Assert.Throws<ArgumentNullException>("options", () => new KvCache(scene.Manager, null!));
    }

    [Fact]
    public void InputsAreNamed()
    {
        KvCache cache = scene.NewCache();
        NDArray x = scene.NewRows(2);
        NDArray pair = scene.Manager.RandomNormal(new Shape(2, 2, CacheScene.Size));
        void Wrong(string words, NDArray queries, Action<AttentionInputs> set)
        {
            var inputs = new AttentionInputs(queries) { Cache = cache };
            set(inputs);
            Refused<ArgumentException>(words, () => scene.Output(inputs));
            Assert.Equal(0, cache.Length(0));
        }
        Wrong("Sequences", x, inputs => inputs.Sequences = new long[] { 3 });
        Wrong("Sequences", x, inputs => inputs.Sequences = new long[] { -1 });
        Wrong("Sequences", x, inputs => inputs.Sequences = new long[] { 0, 1 });
        Wrong("Sequences", x, inputs => inputs.Sequences = Array.Empty<long>());
        Wrong("Sequences", pair, inputs => inputs.Sequences = new long[] { 1, 1 });
        Wrong("CacheLayer", x, inputs => inputs.CacheLayer = 1);
        Wrong("CacheUse", x, inputs => inputs.CacheUse = (CacheUse)2);
        Wrong("Keys", x, inputs => (inputs.CacheUse, inputs.Keys) = (CacheUse.Read, x));
        Wrong("ValidLens", x, inputs => inputs.ValidLens = scene.Manager.Create(new[] { 1 }));
        Wrong("Keys", x, inputs => inputs.Keys = scene.NewRows(3));
        Wrong("Positions", x, inputs => inputs.Positions = scene.Manager.Create(new[] { 0, -1 }, new Shape(1, 2)));

        KvCache other = scene.NewCache(set: options => options.HeadSize = 8);
        Wrong(string.Empty, x, inputs => inputs.Cache = other);
        other = scene.NewCache(set: options => options.NumKvHeads = 4);
        Wrong(string.Empty, x, inputs => inputs.Cache = other);
    }

    /// <summary>What is meant for a cache is not ignored if there is none.</summary>
    [Fact]
    public void InputsForACacheNeedOne()
    {
        NDArray x = scene.NewRows(2);
        foreach ((string words, Action<AttentionInputs> set) in new (string, Action<AttentionInputs>)[]
        {
            ("Sequences is set", inputs => inputs.Sequences = new long[] { 0 }),
            ("CacheLayer is 1", inputs => inputs.CacheLayer = 1),
            ("CacheUse is Read", inputs => inputs.CacheUse = CacheUse.Read),
        })
        {
            var inputs = new AttentionInputs(x);
            set(inputs);
            var error = Assert.Throws<ArgumentException>("Cache", () => scene.Output(inputs));
            Assert.StartsWith(words + ", but Cache is null: expected a cache", error.Message);
            inputs.Clear().Queries = x;
            Assert.Equal(2 * CacheScene.Size, scene.Output(inputs).Length);
        }
        Refused<ArgumentException>("Cache", () => scene.Attention.FillCache(new AttentionInputs(x)));
        Assert.Throws<ArgumentNullException>("inputs", () => scene.Attention.FillCache(null!));
        Assert.Throws<ArgumentException>(
            "inputs", () => scene.Attention.FillCache(new AttentionInputs { Cache = scene.NewCache() }));
        Refused<ArgumentException>(
            "CacheUse",
            () => scene.Attention.FillCache(new AttentionInputs(x)
            {
                Cache = scene.NewCache(), CacheUse = CacheUse.Read,
            }));
    }

    [Fact]
    public void OtherBlocksTakeNoCache()
    {
        NDArray x = scene.NewRows(2);
        var inputs = new AttentionInputs(x) { Cache = scene.NewCache() };
        using var product = new DotProductAttention();
        using var additive = new AdditiveAttention(4);
        additive.Initialize(scene.Manager, DataType.Float32, x.Shape, x.Shape, x.Shape);
        using MultiHeadAttention additiveHeads = scene.NewAttention(options =>
        {
            options.Scoring = Scoring.Additive;
            options.Rope = null;
        });
        foreach (NativeBlock block in new NativeBlock[] { product, additive, additiveHeads })
        {
            Refused<NotSupportedException>(string.Empty, () => CacheScene.Output(block, inputs));
        }
        inputs.Training = true;
        Refused<NotSupportedException>(string.Empty, () => scene.Output(inputs));
        Refused<NotSupportedException>(string.Empty, () => scene.Attention.FillCache(inputs));
        Assert.Equal(0, inputs.Cache!.Length(0));
    }

    [Fact]
    public void RowsThatAreNotThere()
    {
        KvCache cache = scene.NewCache(set: options => options.NumLayers = 2);
        NDArray x = scene.NewRows(4);
        scene.Append(cache, x, 0);
        scene.Output(new AttentionInputs(x) { Cache = cache, CacheLayer = 1 });
        using var folder = new TestFolder();
        string file = folder["sequence"];
        cache.Save(0, file);
        byte[] saved = cache.ToBytes(0);
        foreach (long sequence in new long[] { -1, 3, long.MinValue, long.MaxValue })
        {
            foreach (Action use in new Action[]
            {
                () => cache.Length(sequence),
                () => cache.First(sequence),
                () => cache.Reserve(sequence, 1),
                () => cache.Rewind(sequence, 0),
                () => cache.Fork(sequence, 0, 0),
                () => cache.Fork(0, 0, sequence),
                () => cache.Reorder(sequence),
                () => cache.Accept(sequence, 0),
                () => cache.Discard(sequence, 0, 1),
                () => cache.Read(0, sequence),
                () => cache.Save(sequence, folder["never-written"]),
                () => cache.Load(sequence, file),
                () => cache.ToBytes(sequence),
                () => cache.Load(sequence, saved),
            })
            {
                Refused<ArgumentException>($"{sequence}", use);
            }
        }
        foreach (Action use in new Action[]
        {
            () => cache.Reserve(0, -1),
            () => cache.Rewind(0, 5),
            () => cache.Rewind(0, -1),
            () => cache.Fork(0, 5, 1),
            () => cache.Reorder(0, 1, 2, 0),
            () => cache.Accept(0, 5),
            () => cache.Accept(0, 2, 2),
            () => cache.Accept(0, 2, 1, 0),
            () => cache.Accept(0, 2, 0, 0),
            () => cache.Discard(0, 3, 2),
            () => cache.Discard(0, -1, 1),
            () => cache.Read(2, 0),
            () => cache.Read(-1, 0),
        })
        {
            Refused<ArgumentException>(string.Empty, use);
        }
        Assert.Equal(4, cache.Length(0));
        Assert.False(File.Exists(folder["never-written"]));

        // Layers that do not have the same rows.
        scene.Append(cache, x.Slice(1, 0, 1), 0);
        Refused<ArgumentException>(string.Empty, () => cache.Accept(0, 0, 1));
        Refused<ArgumentException>(string.Empty, () => cache.Discard(0, 0, 1));
        Assert.Throws<ArgumentNullException>("sources", () => cache.Reorder((long[])null!));
        Assert.Throws<ArgumentNullException>("kept", () => cache.Accept(0, 0, (long[])null!));
        Assert.Throws<ArgumentNullException>("path", () => cache.Save(0, null!));
        Assert.Throws<ArgumentNullException>("path", () => cache.Load(0, (string)null!));
    }

    [Fact]
    public void RotaryPositionsCannotBeChangedInWholeNumbers()
    {
        KvCache cache = scene.NewCache(set: options => options.DataType = DataType.Int8);
        scene.Append(cache, scene.NewRows(4), 0);
        Refused<NotSupportedException>(string.Empty, () => cache.Discard(0, 0, 1, renumber: true));
        cache.Discard(0, 0, 1);
        Assert.Equal(3, cache.Length(0));
    }

    /// <summary>A block with other rotary positions than those of the rows.</summary>
    [Fact]
    public void RowsOfOtherRotaryPositions()
    {
        using MultiHeadAttention other = scene.NewAttention(
            options => options.Rope = new RopeOptions { Layout = RopeLayout.Half, Base = 500000 });
        KvCache cache = scene.NewCache();
        NDArray x = scene.NewRows(2);
        scene.Append(cache, x, 0);
        byte[] saved = cache.ToBytes(0);
        var inputs = new AttentionInputs(x) { Cache = cache };
        Assert.Throws<ArgumentException>(() => CacheScene.Output(other, inputs));

        KvCache another = scene.NewCache();
        inputs.Cache = another;
        CacheScene.Output(other, inputs);
        Assert.Throws<ArgumentException>(() => another.Load(1, saved));
        Assert.Equal(0, another.Length(1));
    }

    [Fact]
    public void FilesThatDoNotFit()
    {
        using var folder = new TestFolder();
        KvCache cache = scene.NewCache();
        scene.Append(cache, scene.NewRows(3), 0);
        byte[] saved = cache.ToBytes(0);
        Failed(Status.IO, () => cache.Load(0, folder["none"]));
        Failed(Status.IO, () => cache.Save(0, folder["no/such/file"]));
        Failed(Status.NotFound, () => cache.Load(0, TestFiles.Golden("d2l")));
        Failed(Status.CorruptFile, () => cache.Load(0, saved.AsSpan(0, saved.Length - 1)));
        Failed(Status.CorruptFile, () => cache.Load(0, ReadOnlySpan<byte>.Empty));
        Refused<ArgumentException>("path contains a zero character", () => cache.Load(0, "a\0b"));
        Refused<ArgumentException>("path contains a zero character", () => cache.Save(0, "a\0b"));
        foreach (Action<KvCacheOptions> set in new Action<KvCacheOptions>[]
        {
            options => options.NumKvHeads = 4,
            options => options.HeadSize = 8,
            options => options.ValueHeadSize = 8,
            options => options.DataType = DataType.BFloat16,
            options => options.UnrotatedKeys = true,
        })
        {
            KvCache other = scene.NewCache(set: set);
            Refused<ArgumentException>(string.Empty, () => other.Load(0, saved));
            Assert.Equal(0, other.Length(0));
        }
        byte[] ofTwoLayers = scene.NewCache(set: options => options.NumLayers = 2).ToBytes(0);
        Refused<ArgumentException>("NumLayers", () => cache.Load(0, ofTwoLayers));
        Assert.Equal(saved, cache.ToBytes(0));
    }

    /// <summary>The call throws such an exception, in which these words occur, and none of C's outside of
    /// quotes.</summary>
    private static void Refused<T>(string words, Action use)
        where T : Exception
    {
        string message = Assert.ThrowsAny<T>(use).Message;
        Assert.Contains(words, message);
        Assert.DoesNotMatch("->|heed_|HEED_|NULL|[a-z]_[a-z]", Regex.Replace(message, "\"[^\"]*\"", string.Empty));
    }

    private static void Failed(Status status, Action use) =>
        Assert.Equal(status, Assert.Throws<HeedException>(use).Status);
}
