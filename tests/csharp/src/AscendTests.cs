// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Runtime.CompilerServices;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>Arrays and blocks on an NPU, here the simulated one. The tests of arrays on the CPU also run on the
/// NPU.</summary>
[Trait(TestDevice.Trait, "ascend")]
public sealed class AscendTests : IDisposable
{
    private const int Heads = 4;
    private const int Size = 32;
    private static readonly Device Npu = Device.Ascend();
    private static readonly Shape Queries = new Shape(2, 5, Size);
    private static readonly Shape Keys = new Shape(2, 7, Size);
    private static readonly Shape OneMebibyte = new Shape(1 << 18);
    private static readonly int[] Lens = { 7, 3 };

    private readonly NDManager host = NDManager.NewBaseManager();
    private readonly ParameterStore store = new ParameterStore();
    private readonly TestFolder folder = new TestFolder();

    private static ContextOptions Strict => new ContextOptions { Strict = true, AllowReducedPrecision = true };

    public void Dispose()
    {
        host.Dispose();
        folder.Dispose();
        Simulator.AssertNothingIsLeft();
    }

    [Fact]
    public void TheDevice()
    {
        Assert.Equal(1, Device.GetCount("ascend"));
        using NDManager npu = NDManager.NewBaseManager(Npu);
        Assert.Equal(Npu, npu.Device);
        Assert.Equal("NDManager ascend(0)", npu.ToString());
        Assert.Contains("\"device\": \"ascend\"", npu.Describe());
        Assert.Contains(
            "the device's index is 1",
            Assert.Throws<ArgumentException>(() => NDManager.NewBaseManager(Device.Ascend(1))).Message);
    }

    [Fact]
    public void ElementsOfEachTypeThereAndBack()
    {
        using NDManager npu = NDManager.NewBaseManager(Npu);
        Assert.Equal(new float[] { 1, -2 }, npu.Create(new float[] { 1, -2 }).ToFloatArray());
        Assert.Equal(new[] { 1e300, -2 }, npu.Create(new[] { 1e300, -2 }).ToDoubleArray());
        Assert.Equal(new[] { 1, -2 }, npu.Create(new[] { 1, -2 }).ToIntArray());
        Assert.Equal(new[] { 1L << 60, -2 }, npu.Create(new[] { 1L << 60, -2 }).ToLongArray());
        Assert.Equal(new byte[] { 1, 200 }, npu.Create(new byte[] { 1, 200 }).ToByteArray());
        Assert.Equal(new[] { true, false }, npu.Create(new[] { true, false }).ToBooleanArray());
        NDArray array = npu.Create(new float[,] { { 1, 2, 3 }, { 4, 5, 6 } });
        Assert.Equal(Npu, array.Device);
        Assert.Equal("ND: (2, 3) ascend(0) float32\n[[1, 2, 3],\n [4, 5, 6]]\n", array.ToDebugString());
        Assert.Equal(6, array.GetFloat(1, 2));
        Assert.Equal(2, array.ToType(DataType.Int32).GetLong(0, 1));
        array[1].Set(new float[] { 30, 20, 10 });
        Assert.Equal(new float[] { 1, 30, 2, 20, 3, 10 }, array.Transpose().ToFloatArray());
        array.Slice(1, 1, 1).Set(new float[] { -1, -2 });
        Span<float> copy = stackalloc float[6];
        array.CopyTo(copy);
        Assert.Equal(new float[] { 1, -1, 3, 30, -2, 10 }, copy.ToArray());
        NDArray halves = npu.Create(new float[] { 1.5f, -2 }).ToType(DataType.Float16);
        Assert.Equal(new ushort[] { 0x3e00, 0xc000 }, halves.ToArray<ushort>());
        Assert.Equal(new float[] { 1.5f, -2 }, halves.ToFloatArray());
        array.Save(folder["array.npy"]);
        Assert.True(host.Load(folder["array.npy"]).ContentEquals(array));
        Assert.True(npu.Load(folder["array.npy"]).ContentEquals(array));
        NDArray queries = host.Load(TestFiles.Golden("d2l"), "queries");
        Assert.True(npu.Load(TestFiles.Golden("d2l"), "queries").ContentEquals(queries));
    }

    /// <summary>Methods that would have to access the device's memory from .NET are refused.</summary>
    [Fact]
    public void ItsMemoryIsNotDotNets()
    {
        using NDManager npu = NDManager.NewBaseManager(Npu);
        NDArray array = npu.Ones(new Shape(2));
        Assert.Equal(
            "the array lies in the memory of ascend(0): use ToArray",
            Assert.Throws<InvalidOperationException>(() => array.AsMemory<float>()).Message);
        Assert.Equal(
            "an array of ascend(0) cannot lie in memory of .NET's: use Create",
            Assert.Throws<NotSupportedException>(() => npu.Wrap(new float[2])).Message);
    }

    [Fact]
    public void ToDevice()
    {
        using NDManager npu = NDManager.NewBaseManager(Npu);
        NDArray array = host.Arange(6f).Reshape(2, 3).Transpose();
        Assert.Same(array, array.ToDevice(Device.Cpu()));
        Assert.NotSame(array, array.ToDevice(Device.Cpu(), copy: true));
        NDArray there = array.ToDevice(Npu);
        Assert.Equal(Npu, there.Device);
        Assert.Equal(Npu, there.Manager.Device);
        Assert.Equal(array.ToFloatArray(), there.ToFloatArray());
        Assert.Same(there, there.ToDevice(Npu));
        NDArray back = there.Reshape(6).ToDevice(Device.Cpu());
        Assert.Same(host, back.Manager);
        Assert.Same(there.Manager, back.ToDevice(Npu).Manager);
        Assert.Equal(3, back.AsMemory<float>().Span[1]);
        foreach (DataType type in Enum.GetValues<DataType>())
        {
            NDArray typed = array.ToType(type);
            NDArray moved = typed.ToDevice(Npu);
            Assert.Equal(type, moved.DataType);
            Assert.True(typed.ContentEquals(moved), $"{type}");
        }
        array.CopyTo(there);
        there.CopyTo(array);
        Assert.Throws<ArgumentException>(() => there.Attach(host));
        there.Attach(npu);
        Assert.Same(npu, there.Manager);
        NDList list = new NDList(array, null, there).ToDevice(Npu);
        Assert.Equal(Npu, list[0].Device);
        Assert.Null(list[1]);
        Assert.Same(there, list[2]);
        Assert.Throws<ArgumentNullException>(() => array.ToDevice(null!));
        host.Dispose();
        Assert.True(list[0].IsReleased && back.IsReleased);
        Assert.Equal(new float[] { 0, 3, 1, 4, 2, 5 }, there.ToFloatArray());
    }

    [Fact]
    public void ManagersOfManagers()
    {
        NDManager sub = host.NewSubManager(Npu);
        Assert.Same(host, sub.ParentManager);
        NDArray array = sub.Ones(new Shape(3));
        Assert.Equal(Npu, array.Device);
        Assert.Equal(Npu, sub.NewSubManager().Device);
        host.SetSeed(5);
        NDArray numbers = host.RandomNormal(new Shape(8));
        sub.SetSeed(5);
        Assert.True(numbers.ContentEquals(sub.RandomNormal(new Shape(8))));
        host.Dispose();
        Assert.True(array.IsReleased);
        Assert.Throws<ObjectDisposedException>(() => sub.Ones(new Shape(1)));
        Assert.Throws<ObjectDisposedException>(() => host.NewSubManager(Npu));
    }

    [Fact]
    public void DetachedArraysOutliveTheirManagers()
    {
        NDArray array;
        using (NDManager npu = NDManager.NewBaseManager(Npu))
        {
            array = npu.Create(new float[] { 1, 2 });
            array.Detach();
        }
        using (NDArray copy = array.Duplicate())
        using (NDArray here = array.ToDevice(Device.Cpu()))
        {
            Assert.Equal(Npu, copy.Device);
            Assert.Equal(new float[] { 1, 2 }, copy.ToFloatArray());
            here.Set(new float[] { 5, 6 });
            here.CopyTo(array);
        }
        Assert.Equal(new float[] { 5, 6 }, array.ToFloatArray());
        array.Dispose();
    }

    [Theory]
    [InlineData(DataType.Float32)]
    [InlineData(DataType.Float16)]
    [InlineData(DataType.BFloat16)]
    public void MultiHeadAttentionIsWithinTheBound(DataType type)
    {
        using NDManager npu = NDManager.NewBaseManager(Npu, Strict);
        using var attention = new MultiHeadAttention(Size, Heads, 0.5f, false);
        NDArray queries = npu.RandomNormal(0, 0.25f, Queries, type);
        NDArray keys = npu.RandomNormal(0, 0.25f, Keys, type);
        NDArray values = npu.RandomNormal(Keys, type);
        var inputs = new NDList(queries, keys, values, npu.Create(Lens));
        attention.Initialize(npu, type, inputs.GetShapes());
        NDArray result = attention.Forward(store, inputs).SingletonOrThrow();
        Assert.Equal(type, result.DataType);
        Assert.Equal(Npu, result.Device);
        Assert.Contains("\"backend\": \"ascend\"", attention.Explain(inputs));
        var expected = new SixteenBits(attention, Heads, queries, keys, values, Lens);
        expected.Output.AssertHolds(result.ToFloatArray());
        NDArray weights = attention.Attention.AttentionWeights!;
        Assert.Equal(Npu, weights.Device);
        expected.Weights.AssertHolds(weights.ToFloatArray());

        // The same on the CPU with the same parameters.
        using var same = new MultiHeadAttention(Size, Heads, 0.5f, false);
        foreach (Pair<string, Parameter> parameter in attention.Parameters)
        {
            same.Parameters[parameter.Key].SetArray(parameter.Value.Array.ToDevice(Device.Cpu()));
        }
        NDArray there = same.Forward(store, inputs.ToDevice(Device.Cpu()))[0];
        Assert.Equal(Device.Cpu(), there.Device);
        expected.Output.AssertHolds(there.ToFloatArray());
    }

    [Fact]
    public void FloatsAreRefusedUnlessTheyMayBeNarrowed()
    {
        using NDManager npu = NDManager.NewBaseManager(Npu);
        using var attention = new MultiHeadAttention(Size, Heads);
        attention.Initialize(npu, DataType.Float32, Queries, Keys, Keys);
        var inputs = new NDList(npu.Ones(Queries), npu.Ones(Keys), npu.Ones(Keys));
        string sentence = Assert.Throws<NotSupportedException>(() => attention.Forward(store, inputs)).Message;
        Assert.Contains("Float32, and the Ascend device computes in 16 bits", sentence);
        Assert.Contains("AllowReducedPrecision", sentence);
    }

    [Fact]
    public void ArraysOfTwoDevicesAreNamed()
    {
        using NDManager npu = NDManager.NewBaseManager(Npu, Strict);
        using var attention = new MultiHeadAttention(Size, Heads);
        attention.Initialize(npu, DataType.Float16, Queries, Keys, Keys);
        NDArray x = npu.Ones(Queries, DataType.Float16);
        NDArray y = npu.Ones(Keys, DataType.Float16);
        NDArray here = host.Ones(Keys, DataType.Float16);
        foreach (NDList inputs in new[]
        {
            new NDList(x, here, y), new NDList(x, y, here), new NDList(x, y, y, host.Create(Lens)),
        })
        {
            string sentence = Assert.Throws<ArgumentException>(() => attention.Forward(store, inputs)).Message;
            Assert.Contains("ascend:0", sentence);
            Assert.Contains("cpu:0", sentence);
        }
        Assert.Contains("cpu:0", Assert.Throws<ArgumentException>(() => x.MatMul(here.SwapAxes(1, 2))).Message);
    }

    [Fact]
    public void ALoadedBlockGoesToItsInputs()
    {
        string file = TestFiles.Golden("d2l");
        NDManager npu = NDManager.NewBaseManager(Npu, Strict);
        using var attention = new MultiHeadAttention(100, 5, 0.5f);
        attention.Load(file, "attention");
        NDArray before = attention.Parameters["W_q.weight"].Array;
        Assert.Equal(Device.Cpu(), before.Device);
        var inputs = new NDList(npu.Load(file, "queries"), npu.Load(file, "keys"), npu.Load(file, "values"));
        Assert.Equal(Npu, attention.Forward(store, inputs)[0].Device);
        NDArray weight = attention.Parameters["W_q.weight"].Array;
        Assert.Equal(Npu, weight.Device);
        Assert.Equal(before.ToFloatArray(), weight.ToFloatArray());
        weight.Set(new float[100 * 100]);
        Assert.Equal(new float[100 * 100], weight.ToFloatArray());
        attention.Cast(DataType.Float16);
        using var stream = new MemoryStream();
        attention.Save(stream);
        stream.Position = 0;
        using var again = new MultiHeadAttention(100, 5);
        again.Load(stream);
        Assert.Equal(DataType.Float16, again.Parameters["W_q.weight"].Array.DataType);
        npu.Dispose();
        Assert.True(attention.IsInitialized);
        Assert.Equal(new float[100 * 100], attention.Parameters["W_q.weight"].Array.ToFloatArray());
    }

    [Fact]
    public void ParametersAreSavedAndLoadedOnTheDevice()
    {
        using NDManager npu = NDManager.NewBaseManager(Npu, Strict);
        using var attention = new MultiHeadAttention(Size, Heads, useBias: true);
        using var other = new MultiHeadAttention(Size, Heads, useBias: true);
        attention.Initialize(npu, DataType.Float16, Queries, Keys, Keys);
        using var stream = new MemoryStream();
        attention.SaveParameters(stream);
        stream.Position = 0;
        other.LoadParameters(npu, stream);
        foreach (Pair<string, Parameter> parameter in attention.Parameters)
        {
            NDArray loaded = other.Parameters[parameter.Key].Array;
            Assert.Equal(Npu, loaded.Device);
            Assert.True(parameter.Value.Array.ContentEquals(loaded), parameter.Key);
        }
    }

    [Fact]
    public void TheReusedForm()
    {
        using NDManager npu = NDManager.NewBaseManager(Npu, Strict);
        using var attention = new DotProductAttention(new DotProductAttentionOptions());
        var inputs = new AttentionInputs(
            npu.RandomNormal(new Shape(2, 5, 16), DataType.Float16),
            npu.RandomNormal(new Shape(2, 7, 16), DataType.Float16))
        {
            Mask = npu.Ones(new Shape(5, 7), DataType.Boolean),
        };
        AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.Output | Wanted.Weights | Wanted.LogSumExp);
        using Workspace workspace = npu.NewWorkspace(attention.WorkspaceSize(inputs, outputs));
        attention.Forward(inputs, outputs, workspace);
        float[] first = outputs.Output!.ToFloatArray();
        attention.Forward(inputs, outputs, workspace);
        Assert.Equal(first, outputs.Output.ToFloatArray());
        float sum = 0;
        foreach (float weight in outputs.Weights![1, 4].ToFloatArray())
        {
            sum += weight;
        }

        // Seven weights, each rounded to 11 bits.
        Assert.InRange(sum, 1 - (1.0 / 2048), 1 + (1.0 / 2048));
        NDArray x = host.Ones(new Shape(1, 2, 4));
        Assert.Equal(Device.Cpu(), attention.Forward(store, new NDList(x, x, x))[0].Device);
    }

    [Fact]
    public void WhatTheCpuDoesInTheDevicesPlace()
    {
        using NDManager lenient = NDManager.NewBaseManager(Npu);
        using NDManager strict = NDManager.NewBaseManager(Npu, Strict);
        foreach (NDManager manager in new[] { lenient, strict })
        {
            using var capped = new DotProductAttention(new DotProductAttentionOptions { SoftCap = 5 });
            NDArray x = manager.Ones(new Shape(1, 3, 8), DataType.Float16);
            var inputs = new NDList(x, x, x);
            Assert.Contains("soft cap", capped.Explain(inputs));
            if (manager == strict)
            {
                var error = Assert.Throws<HeedException>(() => capped.Forward(store, inputs));
                Assert.Equal(Status.NotFastest, error.Status);
                Assert.Contains("soft cap", error.Message);
            }
            else
            {
                Assert.Equal(x.ToFloatArray(), capped.Forward(store, inputs)[0].ToFloatArray());
            }
        }
    }

    /// <summary>Everything that a forward uses is disposed while the device is still computing.</summary>
    [Fact]
    public void DisposeDuringAForward()
    {
        Simulator.DelayTasks(300);
        var shape = new Shape(2, 16, Size);
        for (int round = 0; round < 20; round++)
        {
            NDManager manager = NDManager.NewBaseManager(Npu, Strict);
            var attention = new MultiHeadAttention(Size, Heads);
            NDArray x = manager.RandomNormal(shape);
            attention.Initialize(manager, DataType.Float32, shape, shape, shape);
            var calls = new RepeatedCalls(() => attention.Forward(store, new NDList(x, x, x)).Dispose());
            Thread.Sleep(round % 3);
            new IDisposable[] { x, attention, manager }[round % 3].Dispose();
            Exception end = calls.End();
            Assert.IsType<ObjectDisposedException>(end);
            manager.Dispose();
            attention.Dispose();
        }
    }

    /// <summary>The device has memory for only a few of the arrays: before an allocation fails, forgotten arrays are
    /// freed.</summary>
    [Fact]
    public void ForgottenArraysAreFreedBeforeACallFails()
    {
        using NDManager manager = NDManager.NewBaseManager(Npu);
        manager.Ones(new Shape(1)).Dispose();
        Simulator.LeaveRoomFor(32 << 20);
        using (NDManager kept = manager.NewSubManager())
        {
            Assert.Throws<OutOfMemoryException>(() =>
            {
                for (var arrays = new NDList(); arrays.Count < 300;)
                {
                    arrays.Add(kept.Zeros(OneMebibyte));
                }
            });
        }
        for (int i = 0; i < 300; i++)
        {
            Forget(manager);
        }
    }

    [Fact]
    public void AForgottenManager() => ForgetManagers();

    [Fact]
    public void ALostDevice()
    {
        NDManager manager = NDManager.NewBaseManager(Npu, Strict);
        var shape = new Shape(2, 16, Size);
        NDArray x = manager.Ones(shape);
        using (var attention = new MultiHeadAttention(Size, Heads))
        {
            attention.Initialize(manager, DataType.Float32, shape, shape, shape);
            attention.Forward(store, new NDList(x, x, x));
            Simulator.SetFaults("kernel=1:507015");
            var error = Assert.Throws<HeedException>(
                () => attention.Forward(store, new NDList(x, x, x))[0].ToFloatArray());
            Assert.Equal(Status.DeviceLost, error.Status);
            Assert.Contains("507015", error.Message);
            Assert.Equal(Status.DeviceLost, Assert.Throws<HeedException>(() => x.ToFloatArray()).Status);
        }
        manager.Dispose();
        using NDManager again = NDManager.NewBaseManager(Npu);
        Assert.Equal(new float[] { 1, 1 }, again.Ones(new Shape(2)).ToFloatArray());
    }

    [Fact]
    public void TheDevicesMemoryIsFull()
    {
        using NDManager manager = NDManager.NewBaseManager(Npu);
        Simulator.LeaveRoomFor(1_000_000);
        Assert.Contains(
            "4000000", Assert.Throws<OutOfMemoryException>(() => manager.Zeros(new Shape(1_000_000))).Message);
        Assert.Equal(new float[1000], manager.Zeros(new Shape(1000)).ToFloatArray());
    }

    /// <summary>1 MB, and a view.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Forget(NDManager manager) => manager.Zeros(OneMebibyte).Reshape(-1, 2);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ForgetManagers()
    {
        NDManager.NewBaseManager(Npu).Ones(new Shape(3)).ToDevice(Device.Cpu());
        NDManager.NewBaseManager().Ones(new Shape(3)).ToDevice(Npu);
    }
}
