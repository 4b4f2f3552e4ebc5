// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>When caches are freed, what threads may do with them, and that steps allocate nothing.</summary>
public sealed class KvCacheLifetimeTests : IDisposable
{
    private readonly CacheScene scene = new CacheScene();

    public void Dispose() => scene.Dispose();

    [Fact]
    public void CachesBelongToTheirManager()
    {
        NDArray x = scene.NewRows(2);
        KvCache disposed = scene.NewCache();
        disposed.Dispose();
        disposed.Dispose();
        NDManager sub = scene.Manager.NewSubManager();
        var ofSub = new KvCache(sub, new KvCacheOptions
        {
            NumKvHeads = CacheScene.NumKvHeads, HeadSize = CacheScene.HeadSize, Capacity = 8,
        });
        var inputs = new AttentionInputs(x) { Cache = ofSub, Sequences = new long[] { 0 } };
        scene.Output(inputs);
        Assert.Same(sub, ofSub.Manager);
        sub.Dispose();
        Assert.Throws<ObjectDisposedException>(() => new KvCache(sub, new KvCacheOptions()));
        foreach (KvCache closed in new[] { disposed, ofSub })
        {
            inputs.Cache = closed;
            foreach (Action use in new Action[]
            {
                () => _ = closed.NumBytes,
                () => _ = closed.FreePages,
                () => closed.Length(0),
                () => closed.First(0),
                () => closed.Reserve(0, 1),
                () => closed.Rewind(0, 0),
                () => closed.Fork(0, 0, 0),
                () => closed.Reorder(0),
                () => closed.Reorder(ReadOnlySpan<long>.Empty),
                () => closed.Accept(0, 0),
                () => closed.Accept(0, 0, ReadOnlySpan<long>.Empty),
                () => closed.Discard(0, 0, 0),
                () => closed.Read(0, 0),
                () => closed.Save(0, "never-written"),
                () => closed.Load(0, "never-read"),
                () => closed.ToBytes(0),
                () => closed.Load(0, ReadOnlySpan<byte>.Empty),
                () => scene.Output(inputs),
                () => scene.Attention.WorkspaceSize(inputs, new AttentionOutputs()),
                () => scene.Attention.FillCache(inputs),
            })
            {
                Assert.StartsWith("the cache is closed", Assert.Throws<ObjectDisposedException>(use).Message);
            }
            Assert.EndsWith(" (closed)", closed.ToString());
        }

        // The array of sequence numbers was that manager's, and is made again.
        inputs.Cache = scene.NewCache();
        Assert.Equal(2 * CacheScene.Size, scene.Output(inputs).Length);
        Assert.Equal(2, inputs.Cache!.Length(0));
    }

    /// <summary>A block that is disposed leaves the rows as they are.</summary>
    [Fact]
    public void RowsOutliveTheBlock()
    {
        NDArray x = scene.NewRows(3);
        KvCache cache = scene.NewCache();
        using (MultiHeadAttention other = scene.NewAttention(null))
        {
            CacheScene.Output(other, new AttentionInputs(x) { Cache = cache });
        }
        Assert.Equal(3, cache.Read(0, 0).Keys.Shape[1]);
        cache.Fork(0, 3, 1);
        Assert.Equal(3, cache.Length(1));
    }

    /// <summary>A cache, or its manager, is disposed on another thread at any moment: each call gives its result or
    /// throws ObjectDisposedException.</summary>
    [Fact]
    public void DisposeDuringACall()
    {
        NDArray prompt = scene.NewRows(48);
        NDArray step = scene.NewRows(1);
        for (int round = 0; round < 120; round++)
        {
            NDManager sub = scene.Manager.NewSubManager();
            var cache = new KvCache(sub, new KvCacheOptions
            {
                NumKvHeads = CacheScene.NumKvHeads, HeadSize = CacheScene.HeadSize, Capacity = 64, MaxSequences = 2,
                Layout = CacheLayout.Paged, PageSize = 16, NumPages = 8,
            });
            var inputs = new AttentionInputs(prompt) { Cache = cache, Sequences = new long[] { 1 } };
            using AttentionOutputs ofPrompt = scene.Attention.CreateOutputs(inputs);
            inputs.Queries = step;
            using AttentionOutputs ofStep = scene.Attention.CreateOutputs(inputs);
            var calls = new RepeatedCalls(() =>
            {
                inputs.Queries = prompt;
                scene.Attention.Forward(inputs, ofPrompt);
                inputs.Queries = step;
                scene.Attention.Forward(inputs, ofStep);
                cache.Fork(1, 40, 0);
                cache.Load(0, cache.ToBytes(1));
                cache.Reorder(1, 0);
                cache.Rewind(0, 0);
                cache.Rewind(1, 0);
            });
            Thread.Sleep(TimeSpan.FromMilliseconds(0.1 * (round % 10)));
            (round % 2 == 0 ? (IDisposable)cache : sub).Dispose();
            Exception end = calls.End();
            Assert.Contains("is closed", Assert.IsType<ObjectDisposedException>(end).Message);
            sub.Dispose();
        }
    }

    [Fact]
    public void DisposingFromManyThreadsFreesOnce()
    {
        for (int round = 0; round < 200; round++)
        {
            NDManager sub = scene.Manager.NewSubManager();
            var cache = new KvCache(
                sub, new KvCacheOptions { NumKvHeads = 1, HeadSize = 4, Capacity = 16, NumLayers = 2 });
            Thread[] threads =
            {
                new Thread(cache.Dispose), new Thread(sub.Dispose), new Thread(cache.Dispose), new Thread(sub.Dispose),
            };
            Array.ForEach(threads, thread => thread.Start());
            Array.ForEach(threads, thread => thread.Join());
            Assert.Throws<ObjectDisposedException>(() => cache.Length(0));
        }
    }

    /// <summary>Two threads append to one cache, each to its own sequence: a call appends its row, or throws because
    /// the other thread's call is running, and appends none.</summary>
    [Fact]
    public void OneCallAtATimeChangesACache()
    {
        const int numCalls = 1000;
        KvCache cache = scene.NewCache(set: options => options.Capacity = numCalls);
        var appended = new long[2];
        var errors = new Exception?[2];
        Thread[] threads = Enumerable.Range(0, 2).Select(sequence => new Thread(() =>
        {
            using NDManager own = scene.Manager.NewSubManager();
            var inputs = new AttentionInputs(own.Ones(new Shape(1, 1, CacheScene.Size)))
            {
                Cache = cache, Sequences = new long[] { sequence },
            };
            var outputs = new AttentionOutputs(own.Zeros(new Shape(1, 1, CacheScene.Size)));
            for (int call = 0; call < numCalls; call++)
            {
                try
                {
                    scene.Attention.Forward(inputs, outputs);
                    appended[sequence]++;
                }
                catch (InvalidOperationException)
                {
                    // The other thread's call is running.
                }
                catch (Exception error)
                {
                    errors[sequence] = error;
                    return;
                }
            }
        })).ToArray();
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Assert.All(errors, Assert.Null);
        Assert.True(appended.Sum() > 0);
        Assert.Equal(appended, new[] { cache.Length(0), cache.Length(1) });
    }

    /// <summary>The collector runs while calls use caches, and arrays of sequence numbers, to which only the call still
    /// refers.</summary>
    [Fact]
    public void NothingIsFreedDuringACall()
    {
        using var collector = new RunningCollector();
        for (int i = 0; i < 300; i++)
        {
            Assert.Equal(8, ReadForgotten(TestDevice.NewManager()).Shape[1]);
        }
    }

    /// <summary>Nothing at all, in 10,000 steps of two layers, each appended to the sequence that the step
    /// names.</summary>
    [Fact]
    public void StepsAllocateNothing()
    {
        var numbers = new long[] { 2, 0 };
        foreach (CacheLayout layout in Enum.GetValues<CacheLayout>())
        {
            KvCache cache = scene.NewCache(layout, options => options.NumLayers = 2);
            var inputs = new AttentionInputs(scene.Manager.RandomNormal(new Shape(2, 20, CacheScene.Size)))
            {
                Cache = cache, Sequences = numbers,
            };
            for (; inputs.CacheLayer < 2; inputs.CacheLayer++)
            {
                scene.Output(inputs);
            }
            inputs.Queries = scene.Manager.RandomNormal(new Shape(2, 1, CacheScene.Size));
            inputs.CacheLayer = 0;
            using AttentionOutputs outputs = scene.Attention.CreateOutputs(inputs);

            // For the longest sequences, of 21 rows after the step.
            using Workspace workspace = scene.Manager.NewWorkspace(scene.Attention.WorkspaceSize(inputs, outputs));
            long Allocated(int numSteps)
            {
                long before = GC.GetAllocatedBytesForCurrentThread();
                for (int step = 0; step < numSteps; step++)
                {
                    (numbers[0], numbers[1]) = (numbers[1], numbers[0]);
                    inputs.Sequences = numbers;
                    for (inputs.CacheLayer = 0; inputs.CacheLayer < 2; inputs.CacheLayer++)
                    {
                        scene.Attention.Forward(inputs, outputs, workspace);
                    }
                    if (cache.Length(0) > 20)
                    {
                        cache.Rewind(0, 5);
                        cache.Rewind(2, 5);
                        cache.Fork(0, 5, 1);
                        cache.Reorder(new ReadOnlySpan<long>(numbers, 0, 0));
                    }
                }
                return GC.GetAllocatedBytesForCurrentThread() - before;
            }
            Allocated(1000);

            // The smallest of several runs, since .NET may allocate in any of them when it recompiles code that runs
            // often.
            Assert.Contains(0, Enumerable.Range(0, 5).Select(_ => Allocated(10_000)));
        }
    }

    [Fact]
    public void FillingAndReadingAllocateNothing()
    {
        KvCache cache = scene.NewCache();
        var fill = new AttentionInputs(scene.NewRows(3)) { Cache = cache };
        var read = new AttentionInputs(scene.NewRows(1)) { Cache = cache, CacheUse = CacheUse.Read };
        using AttentionOutputs ofFill = scene.Attention.CreateOutputs(
            fill, Wanted.Output | Wanted.Weights | Wanted.LogSumExp);
        using Workspace ofRows = scene.Manager.NewWorkspace(scene.Attention.WorkspaceSize(fill, ofFill));
        scene.Attention.FillCache(fill, ofRows);
        using AttentionOutputs outputs = scene.Attention.CreateOutputs(read);
        using Workspace workspace = scene.Manager.NewWorkspace(scene.Attention.WorkspaceSize(read, outputs));
        long Allocated(int numSteps)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int step = 0; step < numSteps; step++)
            {
                cache.Rewind(0, 0);
                scene.Attention.FillCache(fill, ofRows);
                scene.Attention.Forward(read, outputs, workspace);
            }
            return GC.GetAllocatedBytesForCurrentThread() - before;
        }
        Allocated(1000);
        Assert.Contains(0, Enumerable.Range(0, 5).Select(_ => Allocated(10_000)));
    }

    /// <summary>The keys of a cache to which nothing refers any more.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static NDArray ReadForgotten(NDManager manager)
    {
        NDArray x = manager.Ones(new Shape(1, 8, CacheScene.Size));
        var attention = new MultiHeadAttention(
            new MultiHeadAttentionOptions { NumHiddens = CacheScene.Size, NumHeads = 2 });
        attention.Initialize(manager, DataType.Float32, x.Shape, x.Shape, x.Shape);
        var cache = new KvCache(manager, new KvCacheOptions { NumKvHeads = 2, HeadSize = 8, Capacity = 8 });
        var inputs = new AttentionInputs(x) { Cache = cache, Sequences = new long[] { 0 } };
        AttentionOutputs outputs = attention.CreateOutputs(inputs);
        attention.Forward(inputs, outputs);
        return cache.Read(0, 0).Keys;
    }
}
