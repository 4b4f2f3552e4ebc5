// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>When objects are freed: never during a call, never twice, and finally even when they are
/// forgotten.</summary>
public class LifetimeTests
{
    private const string BlockClosed = "the block, or the manager that it was initialized with, is closed";

    [Fact]
    public void ADisposedBlockCannotBeUsed()
    {
        using var folder = new TestFolder();
        using NDManager manager = TestDevice.NewManager();
        NDArray x = manager.Ones(new Shape(1, 2, 8));
        var inputs = new NDList(x, x, x);
        var attention = new MultiHeadAttention(8, 2, 0, false);
        attention.Initialize(manager, DataType.Float32, inputs.GetShapes());
        attention.Dispose();
        attention.Dispose();
        foreach (Action use in new Action[]
        {
            () => attention.Forward(new ParameterStore(), inputs),
            () => attention.Initialize(manager, DataType.Float32, inputs.GetShapes()),
            () => attention.Load(TestFiles.Golden("d2l"), "attention"),
            () => attention.Save(folder["weights"]),
            () => _ = attention.IsInitialized,
        })
        {
            Assert.Contains(BlockClosed, Assert.Throws<ObjectDisposedException>(use).Message);
        }
    }

    [Fact]
    public void ADisposedInputIsRefused()
    {
        using NDManager manager = TestDevice.NewManager();
        var attention = new MultiHeadAttention(8, 2, 0, false);
        var shape = new Shape(1, 2, 8);
        attention.Initialize(manager, DataType.Float32, shape, shape, shape);
        string[] names = { "queries", "keys", "values", "validLens" };
        for (int disposed = 0; disposed < 4; disposed++)
        {
            var inputs = new NDList(
                manager.Ones(shape), manager.Ones(shape), manager.Ones(shape), manager.Create(new[] { 2 }));
            inputs[disposed].Dispose();
            var error = Assert.Throws<ObjectDisposedException>(() => attention.Forward(new ParameterStore(), inputs));
            Assert.Contains($"the array {names[disposed]} is closed", error.Message);
        }
    }

    /// <summary>Objects that a call uses are disposed on another thread at any moment: each call gives its result or
    /// throws ObjectDisposedException.</summary>
    [Fact]
    public void DisposeDuringACall()
    {
        for (int round = 0; round < 120; round++)
        {
            using NDManager manager = TestDevice.NewManager();
            using NDManager results = TestDevice.NewManager();
            NDArray x = results.Ones(new Shape(2, 64, 32));
            NDArray keys = manager.Ones(new Shape(2, 64, 32));
            var inputs = new NDList(x, keys, keys, manager.Create(new float[] { 64, 40 }));
            using var attention = new MultiHeadAttention(32, 4, 0.1f, true);
            attention.Initialize(results, DataType.Float32, inputs.GetShapes());

            var calls = new RepeatedCalls(() =>
            {
                using NDList result = attention.Forward(new ParameterStore(), inputs, training: true);
                result.Head.ToFloatArray();
                attention.Attention.AttentionWeights!.Dispose();
            });
            Thread.Sleep(TimeSpan.FromMilliseconds(0.1 * (round % 10)));
            IDisposable[] disposed = { attention, keys, inputs[3], manager, results };
            disposed[round % disposed.Length].Dispose();
            Exception end = calls.End();
            Assert.Contains("is closed", Assert.IsType<ObjectDisposedException>(end).Message);
        }
    }

    /// <summary>The same for the arrays that say where packed rows are.</summary>
    [Fact]
    public void DisposeDuringAPackedCall()
    {
        for (int round = 0; round < 60; round++)
        {
            using NDManager manager = TestDevice.NewManager();
            using var attention = new MultiHeadAttention(new MultiHeadAttentionOptions
            {
                NumHiddens = 32, NumHeads = 4, Rope = new RopeOptions { Layout = RopeLayout.Half },
            });
            var any = new Shape(1, 64, 32);
            attention.Initialize(manager, DataType.Float32, any, any, any);
            NDArray[] disposed =
            {
                manager.Create(new[] { 0, 40, 64 }), manager.Create(new[] { 0, 40, 64 }),
                manager.Create(new int[64]), manager.Ones(new Shape(4)),
            };
            var inputs = new AttentionInputs(manager.Ones(new Shape(64, 32)), manager.Ones(new Shape(64, 32)))
            {
                QueryOffsets = disposed[0], KeyOffsets = disposed[1], Positions = disposed[2], Sinks = disposed[3],
            };
            using AttentionOutputs outputs = attention.CreateOutputs(inputs);
            var calls = new RepeatedCalls(() => attention.Forward(inputs, outputs));
            Thread.Sleep(TimeSpan.FromMilliseconds(0.1 * (round % 10)));
            disposed[round % disposed.Length].Dispose();
            Exception end = calls.End();
            Assert.Contains("is closed", Assert.IsType<ObjectDisposedException>(end).Message);
        }
    }

    /// <summary>IsInitialized may be called at any moment of Initialize, and of disposing the manager.</summary>
    [Fact]
    public void IsInitializedDuringInitialize()
    {
        using var attention = new MultiHeadAttention(8, 2);
        var shape = new Shape(1, 2, 8);
        using var stop = new CancellationTokenSource();
        Exception? wrong = null;
        var asking = new Thread(() =>
        {
            try
            {
                while (!stop.IsCancellationRequested)
                {
                    _ = attention.IsInitialized;
                }
            }
            catch (Exception error)
            {
                wrong = error;
            }
        });
        asking.Start();
        for (int round = 0; round < 200; round++)
        {
            using NDManager manager = TestDevice.NewManager();
            attention.Initialize(manager, DataType.Float32, shape, shape, shape);
        }
        stop.Cancel();
        asking.Join();
        Assert.Null(wrong);
    }

    [Fact]
    public void DisposingFromManyThreadsFreesOnce()
    {
        for (int round = 0; round < 200; round++)
        {
            NDManager manager = TestDevice.NewManager();
            NDArray array = manager.Ones(new Shape(1000));
            Thread[] threads =
            {
                new Thread(array.Dispose), new Thread(manager.Dispose), new Thread(array.Dispose),
                new Thread(manager.Dispose),
            };
            Array.ForEach(threads, thread => thread.Start());
            Array.ForEach(threads, thread => thread.Join());
            Assert.Throws<ObjectDisposedException>(() => array.ToFloatArray());
        }
    }

    /// <summary>In this class so that it does not run together with the test that collects all the time, since each
    /// collection visits all managers.</summary>
    [Fact]
    public void DisposesSubManagersHoweverDeep()
    {
        NDManager manager = TestDevice.NewManager();
        var managers = new NDManager[100_000];
        NDManager deepest = manager;
        for (int i = 0; i < managers.Length; i++)
        {
            deepest = deepest.NewSubManager();
            managers[i] = deepest;
        }
        NDArray array = deepest.Ones(new Shape(2));
        manager.Dispose();
        Assert.DoesNotContain(managers, each => each.IsOpen);
        Assert.Throws<ObjectDisposedException>(() => array.ToFloatArray());
    }

    /// <summary>Two gigabytes of arrays that are never disposed, in a manager that stays open.</summary>
    [Fact]
    public void ForgottenArraysAreFreed()
    {
        long before = ResidentBytes();
        using NDManager manager = TestDevice.NewManager();
        for (int i = 0; i < 2000; i++)
        {
            Assert.Equal(1 << 18, manager.Ones(new Shape(1 << 18)).Size);
            if (i % 50 == 49)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
        long grown = ResidentBytes() - before;
        Assert.True(grown < 1L << 30, $"the process grew by {grown} bytes");
    }

    /// <summary>The collector runs while calls use objects to which only the call still refers.</summary>
    [Fact]
    public void NothingIsFreedDuringACall()
    {
        using var collector = new RunningCollector();
        for (int i = 0; i < 300; i++)
        {
            Assert.Equal(2 * 8 * 16, AttendToOnes(TestDevice.NewManager()).SingletonOrThrow().ToFloatArray().Length);
        }
    }

    private static NDList AttendToOnes(NDManager manager)
    {
        NDArray x = manager.Ones(new Shape(2, 8, 16));
        var attention = new MultiHeadAttention(16, 2, 0, false);
        attention.Initialize(manager, DataType.Float32, x.Shape, x.Shape, x.Shape);
        return attention.Forward(new ParameterStore(), new NDList(x, x, x));
    }

    private static long ResidentBytes()
    {
        using Process process = Process.GetCurrentProcess();
        return process.WorkingSet64;
    }
}
