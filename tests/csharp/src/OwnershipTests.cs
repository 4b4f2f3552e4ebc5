// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Heed.Tests;

/// <summary>Who disposes which objects, and what happens to objects that are never disposed.</summary>
public sealed class OwnershipTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void ArraysMoveBetweenManagers()
    {
        NDManager scope = manager.NewSubManager();
        NDArray kept = scope.Ones(new Shape(2));
        NDArray detached = scope.Ones(new Shape(2));
        NDArray lost = scope.Ones(new Shape(2));
        kept.Attach(manager);
        kept.Attach(manager);
        detached.Detach();
        Assert.Same(manager, kept.Manager);
        scope.Dispose();
        Assert.True(lost.IsReleased);
        Assert.Equal(2, kept.Size);
        Assert.Equal(2, detached.Size);

        // Arrays that are made from an array without an owner have no owner either.
        NDManager nobody = detached.Manager;
        Assert.True(nobody.IsOpen);
        Assert.Null(nobody.ParentManager);
        nobody.Dispose();
        Assert.True(nobody.IsOpen);
        NDArray copy = detached.Duplicate();
        NDManager free = nobody.NewSubManager();
        NDArray frees = free.Ones(new Shape(1));
        manager.Dispose();
        Assert.True(kept.IsReleased);
        Assert.Equal(new float[] { 1, 1 }, detached.ToFloatArray());
        Assert.Equal(new float[] { 1, 1 }, copy.ToFloatArray());
        free.Dispose();
        Assert.True(frees.IsReleased);
        detached.Dispose();
        Assert.True(detached.IsReleased);
        Assert.Equal(2, copy.Size);
    }

    [Fact]
    public void AFailedMoveChangesNothing()
    {
        using NDManager other = TestDevice.NewManager();
        NDArray array = other.Ones(new Shape(2));
        manager.Dispose();
        Assert.Contains(
            "the manager is closed", Assert.Throws<ObjectDisposedException>(() => array.Attach(manager)).Message);
        Assert.Same(other, array.Manager);
        Assert.Throws<ArgumentNullException>(() => array.Attach(null!));
        other.Dispose();
        Assert.True(array.IsReleased);
        foreach (Action use in new Action[] { () => array.Attach(other), array.Detach })
        {
            Assert.Contains("the array is closed", Assert.Throws<ObjectDisposedException>(use).Message);
        }
    }

    [Fact]
    public void ListsMove()
    {
        NDManager scope = manager.NewSubManager();
        var list = new NDList(scope.Ones(new Shape(1)), null, scope.Ones(new Shape(1)));
        list.Attach(manager);
        scope.Dispose();
        Assert.Same(manager, list[2].Manager);
        list.Detach();
        manager.Dispose();
        Assert.Equal(1, list[0].GetFloat(0));
        list.Dispose();
        Assert.True(list[0].IsReleased);
    }

    [Fact]
    public void WorkspacesBelongToTheirManager()
    {
        Workspace workspace = manager.NewWorkspace(1000);
        Assert.Equal(1000, workspace.NumBytes);
        Assert.Equal("Workspace 1000 bytes", workspace.ToString());
        Assert.Equal(0, manager.NewWorkspace(0).NumBytes);
        Assert.Throws<ArgumentOutOfRangeException>(() => manager.NewWorkspace(-1));
        Assert.Throws<OutOfMemoryException>(() => manager.NewWorkspace(1L << 50));
        Workspace disposed = manager.NewWorkspace(1);
        disposed.Dispose();
        disposed.Dispose();
        manager.Dispose();
        Assert.Equal("Workspace 1000 bytes (closed)", workspace.ToString());
        foreach (Workspace closed in new[] { disposed, workspace })
        {
            Assert.Contains(
                "the workspace is closed", Assert.Throws<ObjectDisposedException>(() => closed.NumBytes).Message);
        }
        Assert.Throws<ObjectDisposedException>(() => manager.NewWorkspace(1));
    }

    [Fact]
    public void AViewKeepsTheMemoryOfADisposedArray()
    {
        NDArray array = manager.Arange(6f);
        NDArray view = array.Reshape(2, 3).Transpose();
        array.Dispose();
        manager.Full(new Shape(6), 9);
        Assert.Equal(new float[] { 0, 3, 1, 4, 2, 5 }, view.ToFloatArray());
    }

    [Fact]
    public void ForgottenSubManagersAreFreed()
    {
        var managers = new List<WeakReference>();
        var arrays = new List<NDArray>();
        for (int i = 0; i < 100; i++)
        {
            ForgetASubManager(managers, i % 10 == 0 ? arrays : null);
        }
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        Assert.Equal(arrays.Count, managers.FindAll(each => each.IsAlive).Count);

        // Arrays of a forgotten sub-manager that are still used are closed with its parent.
        Assert.Equal(2, arrays[5].Size);
        manager.Dispose();
        Assert.All(arrays, array => Assert.True(array.IsReleased));
    }

    /// <summary>Each thread finally has its own array, in one of the two managers.</summary>
    [Fact]
    public void ArraysMoveWhileManagersAreDisposed()
    {
        for (int round = 0; round < 50; round++)
        {
            NDManager scope = manager.NewSubManager();
            var arrays = new NDArray[8];
            Parallel.For(0, 9, new ParallelOptions { MaxDegreeOfParallelism = 9 }, i =>
            {
                if (i == 8)
                {
                    Thread.Yield();
                    scope.Dispose();
                    return;
                }
                try
                {
                    arrays[i] = scope.Ones(new Shape(10));
                    arrays[i].Attach(manager);
                    arrays[i].Attach(scope);
                    arrays[i].Detach();
                }
                catch (ObjectDisposedException)
                {
                    // Of the scope, or of the array with it.
                }
            });
            foreach (NDArray array in arrays)
            {
                Assert.True(array is null || array.IsReleased || array.Size == 10);
                array?.Dispose();
            }
        }
        Assert.True(manager.IsOpen);
    }

    /// <summary>Thread.Interrupt ends every wait, also that for a lock.</summary>
    [Fact]
    public void AnInterruptedThreadDoesNoHarm()
    {
        using var stop = new CancellationTokenSource();
        var threads = new Thread[3];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(() =>
            {
                while (!stop.IsCancellationRequested)
                {
                    try
                    {
                        manager.Ones(new Shape(3)).Dispose();
                    }
                    catch (ThreadInterruptedException)
                    {
                        // Once more.
                    }
                }
            });
            threads[i].Start();
        }
        for (int i = 0; i < 2000; i++)
        {
            threads[i % threads.Length].Interrupt();
        }
        stop.Cancel();
        Array.ForEach(threads, thread => thread.Join());
        Assert.Equal(new float[] { 1 }, manager.Ones(new Shape(1)).ToFloatArray());
    }

    [Theory]
    [InlineData(ChildProcess.Leak, "1", true)]
    [InlineData(ChildProcess.Leak, "0", false)]
    [InlineData(ChildProcess.LeakBySwitch, "0", true)]
    public void LeaksAreReported(string task, string variable, bool isReported)
    {
        string output = ChildProcess.Run(task, ("HEED_LEAKS", variable));
        int reports = output.Split("the collector has freed an object that was not disposed").Length - 1;
        Assert.Equal(isReported ? 3 : 0, reports);
        Assert.Equal(isReported, output.Contains("disposed: NDArray, made"));
        Assert.Equal(isReported, output.Contains("disposed: Workspace, made"));
        Assert.Equal(isReported, output.Contains("disposed: KvCache, made"));
        Assert.Equal(isReported, output.Contains("LeakHere"));
        Assert.EndsWith("done\n", output);
    }

    /// <summary>More than a hundred thousand arrays, 1.6 GB, with a managed heap of 64 MB: without the collector the
    /// process would keep all of them.</summary>
    [Fact]
    public void ForgottenObjectsDoNotPileUp()
    {
        string output = ChildProcess.Run(ChildProcess.Forget, ("DOTNET_GCHeapHardLimit", "0x4000000"));
        Assert.InRange(int.Parse(output.Split('\n')[0]), 1, 700);
    }

    /// <summary>The memory of arrays of all sizes (3 GB), and of a layer's results (1.6 GB), goes back to the system
    /// although nobody disposes them.</summary>
    [Theory]
    [InlineData(ChildProcess.ForgetLargeOnes)]
    [InlineData(ChildProcess.ForgetResults)]
    public void ForgottenMemoryGoesBackToTheSystem(string task)
    {
        string[] output = ChildProcess.Run(task, ("DOTNET_GCHeapHardLimit", "0x4000000")).Split('\n');
        Assert.InRange(int.Parse(output[0]), 1, 300);
        Assert.InRange(int.Parse(output[1]), 1, 200);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void ForgetASubManager(List<WeakReference> managers, List<NDArray>? arrays)
    {
        NDManager scope = manager.NewSubManager();
        managers.Add(new WeakReference(scope));
        NDArray array = scope.Ones(new Shape(2));
        arrays?.Add(array);
    }
}
