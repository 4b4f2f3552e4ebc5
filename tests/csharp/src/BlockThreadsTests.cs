// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Concurrent;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>Blocks while other threads use, change and dispose them.</summary>
public sealed class BlockThreadsTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    /// <summary>Thread.Interrupt ends waits for a block, and leaves no lock taken.</summary>
    [Fact]
    public void InterruptedThreadsReleaseABlock()
    {
        using var block = new Linear(2);
        block.Initialize(manager, DataType.Float32, new Shape(1, 3));
        NDArray x = manager.Ones(new Shape(1, 3));
        int interrupts = 0;
        Exception? failure = null;
        bool isOver = false;
        Thread[] threads = Enumerable.Range(0, 4).Select(number => new Thread(() =>
        {
            while (!Volatile.Read(ref isOver))
            {
                try
                {
                    block.Forward(new ParameterStore(), new NDList(x)).Dispose();
                    if (number == 0)
                    {
                        block.Cast(DataType.Float32);
                    }
                }
                catch (ThreadInterruptedException)
                {
                    Interlocked.Increment(ref interrupts);
                }
                catch (Exception error)
                {
                    Volatile.Write(ref failure, error);
                    return;
                }
            }
        })).ToArray();
        Array.ForEach(threads, thread => thread.Start());
        for (int i = 0; Volatile.Read(ref interrupts) < 10_000 && Volatile.Read(ref failure) is null; i++)
        {
            threads[i % threads.Length].Interrupt();
        }
        Volatile.Write(ref isOver, true);
        Assert.All(threads, thread => Assert.True(thread.Join(TimeSpan.FromSeconds(60))));
        Assert.Null(failure);
        block.Cast(DataType.Float16);
        Assert.True(block.IsInitialized);
    }

    /// <summary>Whatever changes the parameters, a Forward uses either all the old ones or all the new ones.</summary>
    [Fact]
    public void ParametersAreReplacedBetweenCalls()
    {
        using var folder = new TestFolder();
        using var block = new Linear(16);
        block.Initialize(manager, DataType.Float32, new Shape(1, 8));
        byte[] ones = SaveAs(block, 1, folder["ones"]);
        byte[] twos = SaveAs(block, 2, folder["twos"]);
        NDArray weights = manager.Full(new Shape(16, 8), 1);
        NDArray x = manager.Ones(new Shape(64, 8));

        // Eight products of 1 and a bias of 1, or twice that.
        float[] allowed = { 9, 18 };
        Running(
            () =>
            {
                using NDList result = block.Forward(new ParameterStore(), new NDList(x));
                float first = result.Head.GetFloat(0, 0);
                Assert.Contains(first, allowed);
                Assert.All(result.Head.ToFloatArray(), number => Assert.Equal(first, number));
            },
            round =>
            {
                byte[] next = round % 2 == 0 ? ones : twos;
                switch (round % 8 / 2)
                {
                    case 0:
                        block.LoadParameters(manager, new MemoryStream(next));
                        break;
                    case 1:
                        block.Load(folder[round % 2 == 0 ? "ones" : "twos"]);
                        break;
                    case 2:
                        block.Cast(round % 2 == 0 ? DataType.Float16 : DataType.Float32);
                        break;
                    default:
                        // The same again, through a parameter and through its snapshot.
                        block.LoadParameters(manager, new MemoryStream(ones));
                        block.Parameters["weight"].SetArray(weights);
                        block.Parameters["weight"].Array.Set(weights.ToFloatArray());
                        break;
                }
            });
    }

    /// <summary>If two threads initialize at once, the parameters of the first are kept.</summary>
    [Fact]
    public void OneInitializes()
    {
        for (int round = 0; round < 100; round++)
        {
            using var block = new MultiHeadAttention(8, 2, 0, true);
            var shape = new Shape(1, 2, 8);
            var seen = new ConcurrentBag<float>();
            Thread[] threads = Enumerable.Range(0, 3).Select(_ => new Thread(() =>
            {
                block.Initialize(manager, DataType.Float32, shape, shape, shape);
                seen.Add(block.Parameters["W_v.weight"].Array.GetFloat(3, 3));
            })).ToArray();
            Array.ForEach(threads, thread => thread.Start());
            Array.ForEach(threads, thread => thread.Join());
            Assert.Equal(3, seen.Count);
            Assert.Single(seen.Distinct());
        }
    }

    /// <summary>Objects that the reusing form uses are disposed at any moment of a call.</summary>
    [Fact]
    public void DisposeDuringTheReusingForm()
    {
        for (int round = 0; round < 60; round++)
        {
            using NDManager owner = NDManager.NewBaseManager();
            using var attention = new MultiHeadAttention(32, 4, 0.1f, true);
            NDArray x = manager.Ones(new Shape(2, 64, 32));
            attention.Initialize(owner, DataType.Float32, x.Shape, x.Shape, x.Shape);
            var inputs = new AttentionInputs(x, owner.Ones(x.Shape)) { Training = true };
            using AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.Output | Wanted.Weights);
            Workspace workspace = owner.NewWorkspace(attention.WorkspaceSize(inputs, outputs));
            var calls = new RepeatedCalls(() => attention.Forward(inputs, outputs, workspace));
            Thread.Sleep(TimeSpan.FromMilliseconds(0.1 * (round % 10)));
            IDisposable[] disposed = { attention, inputs.Keys!, outputs.Weights!, workspace, owner };
            disposed[round % disposed.Length].Dispose();
            Assert.Contains("is closed", Assert.IsType<ObjectDisposedException>(calls.End()).Message);
        }
    }

    [Fact]
    public void AWorkspaceServesOneCallAtATime()
    {
        using var attention = new DotProductAttention();
        NDArray x = manager.Ones(new Shape(4, 256, 64));
        var inputs = new AttentionInputs(x);
        using AttentionOutputs sizes = attention.CreateOutputs(inputs);
        using Workspace workspace = manager.NewWorkspace(attention.WorkspaceSize(inputs, sizes));
        Exception? busy = null;
        Thread[] threads = Enumerable.Range(0, 2).Select(_ => new Thread(() =>
        {
            AttentionOutputs outputs = attention.CreateOutputs(inputs);
            while (Volatile.Read(ref busy) is null)
            {
                try
                {
                    attention.Forward(inputs, outputs, workspace);
                }
                catch (Exception error)
                {
                    Volatile.Write(ref busy, error);
                }
            }
        })).ToArray();
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Assert.Contains("in use", Assert.IsType<InvalidOperationException>(busy).Message);
    }

    /// <summary>Many threads use one block, each with arrays of its own, and all get the same result.</summary>
    [Fact]
    public void ManyThreadsUseOneBlock()
    {
        using var attention = new MultiHeadAttention(16, 4, 0.5f, true);
        NDArray x = manager.RandomNormal(new Shape(2, 8, 16));
        attention.Initialize(manager, DataType.Float32, x.Shape, x.Shape, x.Shape);
        var inputs = new AttentionInputs(x) { Training = true, DropoutSeed = 7 };
        using AttentionOutputs expected = attention.CreateOutputs(inputs);
        attention.Forward(inputs, expected);
        float[] numbers = expected.Output!.ToFloatArray();
        var wrong = new ConcurrentBag<Exception>();
        Thread[] threads = Enumerable.Range(0, 8).Select(_ => new Thread(() =>
        {
            using AttentionOutputs outputs = attention.CreateOutputs(inputs);
            for (int i = 0; i < 200; i++)
            {
                attention.Forward(inputs, outputs);
                if (Record.Exception(() => Assert.Equal(numbers, outputs.Output!.ToFloatArray())) is { } error)
                {
                    wrong.Add(error);
                }
            }
        })).ToArray();
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Assert.Empty(wrong);
    }

    /// <summary>Blocks, snapshots and results that are never disposed.</summary>
    [Fact]
    public void ForgottenBlocksAreFreed()
    {
        NDArray x = manager.Ones(new Shape(1, 1024));
        NDArray weight = manager.Ones(new Shape(512, 1024));
        NDArray bias = manager.Zeros(new Shape(512));
        using Process process = Process.GetCurrentProcess();
        long before = process.WorkingSet64;
        for (int i = 0; i < 800; i++)
        {
            // 2 MiB of weights each, 1.6 GiB in all. Nothing calls the collector, but it knows of this memory.
            var linear = new Linear(512);
            linear.Parameters["weight"].SetArray(weight);
            linear.Parameters["bias"].SetArray(bias);
            Assert.Equal(512, linear.Parameters["bias"].Array.Size);
            Assert.Equal(512, linear.Forward(new ParameterStore(), new NDList(x)).Head.Size);
        }
        process.Refresh();
        long grown = process.WorkingSet64 - before;
        Assert.True(grown < 1L << 29, $"the process grew by {grown} bytes");
    }

    private byte[] SaveAs(Linear block, float value, string file)
    {
        block.Parameters["weight"].SetArray(manager.Full(new Shape(16, 8), value));
        block.Parameters["bias"].SetArray(manager.Full(new Shape(16), value));
        block.Save(file);
        using var stream = new MemoryStream();
        block.SaveParameters(stream);
        return stream.ToArray();
    }

    /// <summary>Calls `use` on two threads during 200 changes on this one.</summary>
    private static void Running(Action use, Action<int> change)
    {
        using var stop = new CancellationTokenSource();
        var wrong = new ConcurrentBag<Exception>();
        Thread[] threads = Enumerable.Range(0, 2).Select(_ => new Thread(() =>
        {
            while (!stop.IsCancellationRequested && wrong.IsEmpty)
            {
                if (Record.Exception(use) is { } error)
                {
                    wrong.Add(error);
                }
            }
        })).ToArray();
        Array.ForEach(threads, thread => thread.Start());
        for (int round = 0; round < 200; round++)
        {
            change(round);
        }
        stop.Cancel();
        Array.ForEach(threads, thread => thread.Join());
        Assert.Empty(wrong);
    }
}
