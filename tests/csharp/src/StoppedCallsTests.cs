// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>Calls that a token stops, and the reports of loads.</summary>
public sealed class StoppedCallsTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void NothingIsComputedForATokenThatIsCancelled()
    {
        using Linear linear = MakeLinear(4);
        NDArray rows = manager.Ones(new Shape(2, 4));
        float[] expected = linear.Forward(rows).SingletonOrThrow().ToFloatArray();
        var inputs = new AttentionInputs(rows);
        AttentionOutputs outputs = linear.CreateOutputs(inputs);
        using var source = new CancellationTokenSource();
        Assert.Equal(expected, linear.Forward(source.Token, rows).SingletonOrThrow().ToFloatArray());
        linear.Forward(inputs, outputs, stop: source.Token);
        Assert.Equal(expected, outputs.Output!.ToFloatArray());
        source.Cancel();
        ExpectStopped(source, () => linear.Forward(source.Token, rows));
        ExpectStopped(source, () => linear.Forward(inputs, outputs, stop: source.Token));
        ExpectStopped(source, () => new Model("bert").Load(TestFiles.Data("models/bert"), stop: source.Token));
        Assert.Equal(expected, linear.Forward(rows).SingletonOrThrow().ToFloatArray());
    }

    [Fact]
    public void ALongCallEndsWhenItsTokenIsCancelled()
    {
        using Linear linear = MakeLinear(2048);
        var inputs = new AttentionInputs(manager.Ones(new Shape(1500, 2048)));
        AttentionOutputs outputs = linear.CreateOutputs(inputs);
        using var source = new CancellationTokenSource(20);
        ExpectStopped(source, () =>
        {
            for (;;)
            {
                linear.Forward(inputs, outputs, stop: source.Token);
            }
        });
        linear.Forward(inputs, outputs);
        Assert.Equal(
            linear.Forward(inputs.Queries).SingletonOrThrow().ToFloatArray(), outputs.Output!.ToFloatArray());
    }

    [Fact]
    public void ALoadReportsItsBytes()
    {
        var reports = new List<LoadProgress>();
        using var model = new Model("bert");
        model.Load(TestFiles.Data("models/bert"), manager, new Listener(reports.Add));
        Assert.True(model.Block.IsInitialized);
        Assert.Equal(0, reports[0].Done);
        Assert.Equal(reports[0].Total, reports[reports.Count - 1].Done);
        Assert.All(reports, report => Assert.Equal(reports[0].Total, report.Total));
        Assert.Equal(reports.Select(report => report.Done).OrderBy(done => done), reports.Select(report => report.Done));
        Assert.True(reports.Count > 10);
    }

    [Fact]
    public void ALoadEndsAtEachReport()
    {
        using var model = new Model("bert");
        for (int last = 0; ; last++)
        {
            int left = last;
            using var source = new CancellationTokenSource();
            var listener = new Listener(_ =>
            {
                if (left-- == 0)
                {
                    source.Cancel();
                }
            });
            try
            {
                model.Load(TestFiles.Data("models/bert"), null, listener, source.Token);
                Assert.False(source.IsCancellationRequested);
                break;
            }
            catch (OperationCanceledException stopped)
            {
                Assert.Equal(source.Token, stopped.CancellationToken);
                Assert.Throws<InvalidOperationException>(() => model.Block);
            }
        }
        Assert.True(model.Block.IsInitialized);
    }

    [Fact]
    public void TheExceptionOfAListenerEndsTheLoad()
    {
        using var model = new Model("bert");
        var thrown = new InvalidOperationException("enough");
        Assert.Same(thrown, Assert.Throws<InvalidOperationException>(() => model.Load(
            TestFiles.Data("models/bert"), manager, new Listener(report => _ = report.Done > 0 ? throw thrown : 0))));

        // What a listener loads is another load.
        int others = 0;
        model.Load(TestFiles.Data("models/bert"), manager, new Listener(report =>
        {
            if (report.Done == 0)
            {
                others++;
                using var other = new Model("gpt2");
                other.Load(TestFiles.Data("models/gpt2"));
            }
        }));
        Assert.Equal(1, others);
    }

    /// <summary>The block that was loaded meanwhile stays, and no block of a disposed model is left.</summary>
    [Fact]
    public void AModelThatItsListenerLoadsOrDisposesRefusesTheBlock()
    {
        using var model = new Model("bert");
        ModelBlock? first = null;
        Assert.Throws<InvalidOperationException>(() => model.Load(
            TestFiles.Data("models/bert"), manager, new Listener(_ =>
            {
                if (first is null)
                {
                    model.Load(TestFiles.Data("models/bert"));
                    first = model.Block;
                }
            })));
        Assert.Same(first, model.Block);

        var disposed = new Model("bert");
        Assert.Throws<ObjectDisposedException>(() => disposed.Load(
            TestFiles.Data("models/bert"), manager, new Listener(_ => disposed.Dispose())));
        Assert.Contains("not loaded", disposed.ToString());
    }

    /// <summary>A token inside a call with a token does not hide it.</summary>
    [Fact]
    public void BothTokensStopACallInsideACall()
    {
        using Linear linear = MakeLinear(4);
        NDArray rows = manager.Ones(new Shape(2, 4));
        using var outer = new CancellationTokenSource();
        using var inner = new CancellationTokenSource();
        var block = new CallingBlock(list => linear.Forward(inner.Token, list[0]));
        Assert.Equal(rows.Shape, block.Forward(outer.Token, rows).SingletonOrThrow().Shape);

        var stopsOuter = new CallingBlock(list =>
        {
            outer.Cancel();
            return linear.Forward(inner.Token, list[0]);
        });
        ExpectStopped(outer, () => stopsOuter.Forward(outer.Token, rows));

        // The load hears of the outer token only in its reports.
        using var late = new CancellationTokenSource();
        using var model = new Model("bert");
        var loads = new CallingBlock(list =>
        {
            model.Load(TestFiles.Data("models/bert"), null, new Listener(_ => late.Cancel()), inner.Token);
            return list;
        });
        ExpectStopped(late, () => loads.Forward(late.Token, rows));
        inner.Cancel();
        ExpectStopped(inner, () => block.Forward(CancellationToken.None, rows));
    }

    /// <summary>Each call that takes a token, with one that is cancelled; none has changed anything.</summary>
    [Fact]
    public void EachCallThatTakesATokenEndsByIt()
    {
        using var folder = new TestFolder();
        using Linear linear = MakeLinear(4);
        NDArray rows = manager.Ones(new Shape(2, 4));
        string file = folder["linear.safetensors"];
        linear.Save(file);
        using Weights weights = Weights.Open(file);
        using var other = new Linear(4);
        using var composed = new SequentialBlock();
        composed.Add(new Linear(4)).Initialize(manager, DataType.Float32, new Shape(2, 4));
        string whole = folder["composed.safetensors"];
        composed.Save(whole);
        composed.Clear();
        var store = new ParameterStore(manager, false);
        var list = new NDList(rows);
        NDArray heads = manager.Ones(new Shape(1, 2, 4));
        var inputs = new AttentionInputs(heads);
        var outputs = new AttentionOutputs { Output = manager.Zeros(new Shape(1, 2, 4)) };
        using var attention = new MultiHeadAttention(4, 2);
        attention.Initialize(manager, DataType.Float32, heads.Shape, heads.Shape, heads.Shape);
        using var source = new CancellationTokenSource();
        source.Cancel();
        CancellationToken stop = source.Token;
        foreach (Action call in new Action[]
        {
            () => linear.Forward(stop, store, list),
            () => attention.Forward(store, new NDList(heads, heads, heads), new Taps("attention"), false, stop),
            () => DotProductAttention.ScaledDotProductAttention(heads, heads, heads, stop),
            () => DotProductAttention.ScaledDotProductAttention(inputs, outputs, null, stop),
            () => other.Initialize(stop, manager, DataType.Float32, new Shape(2, 4)),
            () => other.Load(file, null, stop),
            () => other.Load(file, null, stop, Array.Empty<string>()),
            () => other.Load(weights, null, stop),
            () => other.Load(File.OpenRead(file), null, stop),
            () => other.Load(File.OpenRead(file), null, stop, Array.Empty<string>()),
            () => composed.Initialize(stop, manager, DataType.Float32, new Shape(2, 4)),
            () => composed.Load(manager, whole, stop),
        })
        {
            ExpectStopped(source, call);
        }
        Assert.False(other.IsInitialized);
        Assert.False(composed.IsInitialized);

        using var open = new CancellationTokenSource();
        NDArray expected = linear.Forward(rows).SingletonOrThrow();
        other.Load(weights, null, open.Token);
        Assert.True(expected.ContentEquals(other.Forward(open.Token, store, list).SingletonOrThrow()));
        composed.Load(manager, whole, open.Token);
        Assert.True(composed.IsInitialized);
        Assert.Equal(
            heads.Shape, DotProductAttention.ScaledDotProductAttention(heads, heads, heads, open.Token).Shape);
        composed.Clear();
        composed.Initialize(open.Token, manager, DataType.Float32, new Shape(2, 4));
        Assert.True(composed.IsInitialized);
    }

    /// <summary>A token that is cancelled when the stream has been read.</summary>
    [Fact]
    public void ALoadOfAStreamEndsAfterItsBytes()
    {
        using var folder = new TestFolder();
        string file = folder["linear.safetensors"];
        using (Linear saved = MakeLinear(4))
        {
            saved.Save(file);
        }
        using var other = new Linear(4);
        foreach (Action<CancellingStream> call in new Action<CancellingStream>[]
        {
            stream => other.Load(stream, null, stream.Source.Token),
            stream => other.Load(stream, null, stream.Source.Token, Array.Empty<string>()),
        })
        {
            using var stream = new CancellingStream(File.ReadAllBytes(file));
            ExpectStopped(stream.Source, () => call(stream));
            Assert.False(other.IsInitialized);
        }
    }

    /// <summary>Tokens that are cancelled while parameters are read or drawn, or attention is computed.</summary>
    [Fact]
    public void LongCallsEndInside()
    {
        using var folder = new TestFolder();
        string file = folder["linear.safetensors"];
        using (Linear saved = MakeLinear(2048))
        {
            saved.Save(file);
        }
        using Weights weights = Weights.Open(file);
        using var linear = new Linear(2048);
        NDArray rows = manager.Ones(new Shape(8, 1024, 64));
        ExpectStoppedInside(stop => linear.Load(weights, null, stop));
        ExpectStoppedInside(stop =>
        {
            linear.Clear();
            linear.Initialize(stop, manager, DataType.Float32, new Shape(1, 2048));
        });
        ExpectStoppedInside(stop => DotProductAttention.ScaledDotProductAttention(rows, rows, rows, stop).Dispose());
    }

    /// <summary>A call that fills or appends leaves the cache as it was.</summary>
    [Fact]
    public void AStoppedStepLeavesTheCacheAsItWas()
    {
        using var model = new Model("gpt2");
        model.Load(TestFiles.Data("models/gpt2"), manager);
        using var cache = new KvCache(manager, new KvCacheOptions(model.Block) { Capacity = 20 });
        NDArray ids = manager.Create(new long[] { 1, 2, 3 }, new Shape(1, 3));
        var inputs = new AttentionInputs(ids) { Cache = cache };
        AttentionOutputs outputs = model.Block.CreateOutputs(inputs);
        using var source = new CancellationTokenSource();
        source.Cancel();
        ExpectStopped(source, () => model.Block.Forward(inputs, outputs, stop: source.Token));
        Assert.Equal(0, cache.Length(0));
        model.Block.Forward(inputs, outputs);
        Assert.Equal(3, cache.Length(0));
    }

    private static void ExpectStopped(CancellationTokenSource source, Action call)
    {
        OperationCanceledException stopped = Assert.ThrowsAny<OperationCanceledException>(call);
        Assert.Equal(source.Token, stopped.CancellationToken);
    }

    /// <summary>Calls again and again, until one has begun before its token is cancelled, and has not ended.</summary>
    private static void ExpectStoppedInside(Action<CancellationToken> call)
    {
        for (int tries = 0; tries < 100; tries++)
        {
            using var source = new CancellationTokenSource(20);
            Action again = () =>
            {
                for (;;)
                {
                    call(source.Token);
                }
            };
            OperationCanceledException stopped = Assert.ThrowsAny<OperationCanceledException>(again);
            Assert.Equal(source.Token, stopped.CancellationToken);
            if (stopped.Message.StartsWith("the token is cancelled, so the call was stopped", StringComparison.Ordinal))
            {
                return;
            }
        }
        Assert.Fail("no call was stopped after it had begun");
    }

    private Linear MakeLinear(long size)
    {
        var linear = new Linear(size);
        linear.Initialize(manager, DataType.Float32, new Shape(1, size));
        return linear;
    }

    /// <summary>Cancels its token when it is read.</summary>
    private sealed class CancellingStream : MemoryStream
    {
        internal CancellingStream(byte[] bytes)
            : base(bytes)
        {
        }

        internal CancellationTokenSource Source { get; } = new CancellationTokenSource();

        public override int Read(byte[] buffer, int offset, int count)
        {
            Source.Cancel();
            return base.Read(buffer, offset, count);
        }

        protected override void Dispose(bool disposing)
        {
            Source.Dispose();
            base.Dispose(disposing);
        }
    }

    /// <summary>Computes by a function.</summary>
    private sealed class CallingBlock : AbstractBlock
    {
        private readonly Func<NDList, NDList> call;

        internal CallingBlock(Func<NDList, NDList> call)
        {
            this.call = call;
        }

        protected override NDList ForwardInternal(
            ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) =>
            call(inputs);
    }

    /// <summary>Hears on the thread of the load, as <see cref="Progress{T}"/> does not.</summary>
    private sealed class Listener : IProgress<LoadProgress>
    {
        private readonly Action<LoadProgress> hear;

        internal Listener(Action<LoadProgress> hear)
        {
            this.hear = hear;
        }

        public void Report(LoadProgress value) => hear(value);
    }
}
