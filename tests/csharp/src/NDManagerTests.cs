// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.Json;
using Xunit;

namespace Heed.Tests;

public class NDManagerTests
{
    [Fact]
    public void CreatesArraysFromManagedOnes()
    {
        using NDManager manager = NDManager.NewBaseManager();
        Check(manager.Create(2.5f), DataType.Float32, new Shape());
        Assert.Equal(new[] { 2.5f }, manager.Create(2.5f).ToFloatArray());

        float[] floats = { 1, 2, 3, 4, 5, 6 };
        Check(manager.Create(floats), DataType.Float32, new Shape(6));
        Check(manager.Create(floats, new Shape(2, 3)), DataType.Float32, new Shape(2, 3));
        Assert.Equal(floats, manager.Create(floats, new Shape(2, 3)).ToFloatArray());

        int[] ints = { int.MinValue, 0, 7, int.MaxValue };
        Check(manager.Create(ints), DataType.Int32, new Shape(4));
        Check(manager.Create(ints, new Shape(2, 2)), DataType.Int32, new Shape(2, 2));
        Assert.Equal(ints, manager.Create(ints, new Shape(2, 2)).ToIntArray());

        long[] longs = { long.MinValue, 0, long.MaxValue };
        Check(manager.Create(longs), DataType.Int64, new Shape(3));
        Check(manager.Create(longs, new Shape(3, 1)), DataType.Int64, new Shape(3, 1));
        Assert.Equal(longs, manager.Create(longs, new Shape(3, 1)).ToLongArray());

        Check(manager.Create(Array.Empty<float>()), DataType.Float32, new Shape(0));
        Assert.Empty(manager.Create(Array.Empty<float>()).ToFloatArray());
    }

    [Fact]
    public void CreatesArraysOfOneValue()
    {
        using NDManager manager = NDManager.NewBaseManager();
        Assert.Equal(new float[] { 0, 0 }, manager.Zeros(new Shape(2)).ToFloatArray());
        Assert.Equal(new[] { 0, 0 }, manager.Zeros(new Shape(2), DataType.Int32).ToIntArray());
        Assert.Equal(new float[] { 1, 1 }, manager.Ones(new Shape(1, 2)).ToFloatArray());
        Assert.Equal(new long[] { 1, 1 }, manager.Ones(new Shape(2), DataType.Int64).ToLongArray());
        Assert.Equal(new[] { 0.5f, 0.5f }, manager.Full(new Shape(2), 0.5f).ToFloatArray());
        Assert.Equal(new[] { 0.5 }, manager.Full(new Shape(1), 0.5f, DataType.Float64).ToDoubleArray());
        foreach (DataType type in Enum.GetValues<DataType>())
        {
            Check(manager.Ones(new Shape(2, 0, 3), type), type, new Shape(2, 0, 3));
        }
    }

    [Fact]
    public void LoadsAnArrayByName()
    {
        using var folder = new TestFolder();
        string file = TestFiles.Write(
            folder["größe \ud83d\ude00.safetensors"],
            "{\"zwölf\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}",
            1, 2, 3);
        using NDManager manager = NDManager.NewBaseManager();
        Check(manager.Load(file, "zwölf"), DataType.UInt8, new Shape(3));
        Check(manager.Load(TestFiles.Golden("d2l"), "bound"), DataType.Float64, new Shape(2, 4, 100));
        Check(manager.Load(TestFiles.Golden("d2l"), "valid_lens"), DataType.Int32, new Shape(2));
    }

    [Fact]
    public void DisposesItsArraysAndSubManagers()
    {
        NDManager manager = NDManager.NewBaseManager();
        NDManager child = manager.NewSubManager();
        NDArray own = manager.Ones(new Shape(2));
        NDArray childs = child.Ones(new Shape(2));
        NDManager other = manager.NewSubManager();
        NDArray others = other.Ones(new Shape(2));
        Assert.Same(child, childs.Manager);
        Assert.Equal("NDManager cpu()", manager.ToString());

        other.Dispose();
        Assert.Throws<ObjectDisposedException>(() => others.Shape);
        Assert.True(manager.IsOpen);
        Assert.Equal(2, own.Size);

        manager.Dispose();
        manager.Dispose();
        Assert.False(manager.IsOpen);
        Assert.False(child.IsOpen);
        Assert.Equal("NDManager (closed)", manager.ToString());
        Assert.Throws<ObjectDisposedException>(() => own.ToFloatArray());
        Assert.Throws<ObjectDisposedException>(() => childs.ToFloatArray());
        foreach (Action use in new Action[]
        {
            () => manager.Create(1f),
            () => manager.Zeros(new Shape(1)),
            () => manager.Load(TestFiles.Golden("d2l"), "bound"),
            () => manager.NewSubManager(),
            () => child.NewSubManager(),
        })
        {
            Assert.Contains("the manager is closed", Assert.Throws<ObjectDisposedException>(use).Message);
        }
    }

    [Fact]
    public void Counts()
    {
        using NDManager manager = NDManager.NewBaseManager();
        Assert.Equal(new[] { 0, 1, 2 }, manager.Arange(3).ToIntArray());
        Assert.Empty(manager.Arange(-3).ToIntArray());
        Assert.Equal(new float[] { 0, 1, 2 }, manager.Arange(2.5f).ToFloatArray());
        Assert.Equal(new float[] { 2, 3 }, manager.Arange(2f, 4f).ToFloatArray());
        Assert.Equal(new[] { 1, 0.5f, 0, -0.5f }, manager.Arange(1, -1, -0.5f).ToFloatArray());
        Assert.Equal(new long[] { 0, 0, 1 }, manager.Arange(0, 1.5f, 0.5f, DataType.Int64).ToLongArray());
        Assert.Empty(manager.Arange(4f, 2f).ToFloatArray());

        // The last number below 2^24 + 3; a float cannot represent its neighbours.
        Assert.Equal(16777218, manager.Arange(16777219)[-1].ToIntArray()[0]);
        foreach (Action use in new Action[]
        {
            () => manager.Arange(0, 1, 0),
            () => manager.Arange(float.NaN),
            () => manager.Arange(float.PositiveInfinity),
            () => manager.Arange(0, 1, float.PositiveInfinity),
            () => manager.Arange(float.NegativeInfinity, 0),
            () => manager.Arange(0, float.MaxValue, float.Epsilon),
        })
        {
            Assert.Throws<ArgumentException>(use);
        }
    }

    [Fact]
    public void CountsInInts()
    {
        using NDManager manager = NDManager.NewBaseManager();
        Assert.Equal(new[] { 0, 2, 4, 6, 8 }, manager.Arange(0, 10, 2).ToIntArray());
        Assert.Equal(new[] { -2, -1, 0 }, manager.Arange(-2, 1).ToIntArray());
        Assert.Equal(new[] { 3, 1, -1 }, manager.Arange(3, -2, -2).ToIntArray());
        int large = (1 << 24) + 1;
        Assert.Equal(new long[] { large }, manager.Arange(large, large + 1, 1, DataType.Int64).ToLongArray());
        Assert.Equal(
            new[] { int.MinValue, -1, int.MaxValue - 1 },
            manager.Arange(int.MinValue, int.MaxValue, int.MaxValue).ToIntArray());
        Assert.Empty(manager.Arange(1, 1).ToIntArray());
        Assert.Equal(DataType.Float32, manager.Arange(0, 10, 2f).DataType);
        Assert.StartsWith(
            "step is 0, expected another number",
            Assert.Throws<ArgumentException>(() => manager.Arange(0, 10, 0)).Message);
    }

    [Fact]
    public void DrawsRandomNumbers()
    {
        using NDManager manager = NDManager.NewBaseManager();
        float[] uniform = manager.RandomUniform(-2, 3, new Shape(10000)).ToFloatArray();
        Assert.InRange(uniform.Min(), -2, -1.9f);
        Assert.InRange(uniform.Max(), 2.9f, 3);

        // Means have a standard deviation of sigma / 100; six of them are enough for any seed.
        Assert.InRange(uniform.Average(), 0.5f - (0.06f * 1.44f), 0.5f + (0.06f * 1.44f));
        Assert.InRange(manager.RandomNormal(new Shape(10000)).ToFloatArray().Average(), -0.06f, 0.06f);
        double[] normal = manager.RandomNormal(5, 2, new Shape(10000), DataType.Float64).ToDoubleArray();
        Assert.InRange(normal.Average(), 4.88, 5.12);
        Assert.InRange(normal.Average(each => (each - 5) * (each - 5)), 4 - 0.4, 4 + 0.4);
        int[] dice = manager.RandomUniform(0, 3, new Shape(99), DataType.Int32).ToIntArray();
        Assert.Equal(new[] { 0, 1, 2 }, dice.Distinct().Order());

        Assert.Throws<ArgumentException>(() => manager.RandomUniform(1, 0, new Shape(1)));
        Assert.Throws<ArgumentException>(() => manager.RandomUniform(float.NaN, 0, new Shape(1)));
        Assert.Throws<ArgumentException>(() => manager.RandomNormal(0, -1, new Shape(1)));
    }

    [Fact]
    public void SeedsRepeatRandomNumbers()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using NDManager sub = manager.NewSubManager();
        float[][] Draw() => new[]
        {
            manager.RandomUniform(0, 1, new Shape(5)).ToFloatArray(), sub.RandomNormal(new Shape(5)).ToFloatArray(),
            manager.RandomUniform(0, 1, new Shape(5)).ToFloatArray(),
        };
        manager.SetSeed(7);
        float[][] first = Draw();
        Assert.NotEqual(first[0], first[2]);
        Assert.NotEqual(first, Draw());
        sub.SetSeed(7);
        Assert.Equal(first, Draw());
        using NDManager other = NDManager.NewBaseManager();
        using NDManager another = NDManager.NewBaseManager();
        Assert.NotEqual(
            other.RandomNormal(new Shape(5)).ToFloatArray(), another.RandomNormal(new Shape(5)).ToFloatArray());
    }

    [Fact]
    public void FlushesSubnormalNumbersIfAsked()
    {
        using NDManager kept = NDManager.NewBaseManager(Device.Cpu());
        using NDManager flushed = NDManager.NewBaseManager(Device.Cpu(), new ContextOptions { FlushSubnormals = true });
        Assert.Equal(new[] { 1e-40f }, TimesOne(kept, 1e-40f));
        Assert.Equal(new float[] { 0 }, TimesOne(flushed, 1e-40f));
        using JsonDocument described = JsonDocument.Parse(flushed.Describe());
        Assert.True(described.RootElement.GetProperty("flush_subnormals").GetBoolean());
    }

    private static float[] TimesOne(NDManager manager, float number) =>
        manager.Create(new[] { number }, new Shape(1, 1)).MatMul(manager.Ones(new Shape(1, 1))).ToFloatArray();

    [Fact]
    public void OpensItsDeviceWithOptions()
    {
        using NDManager manager = NDManager.NewBaseManager(
            Device.Cpu(), new ContextOptions { NumThreads = 2, Strict = true, AllowReducedPrecision = true });
        using JsonDocument described = JsonDocument.Parse(manager.Describe());
        Assert.Equal("cpu", described.RootElement.GetProperty("device").GetString());
        Assert.True(described.RootElement.GetProperty("strict").GetBoolean());
        Assert.True(described.RootElement.GetProperty("allow_reduced_precision").GetBoolean());
        using NDManager plain = NDManager.NewBaseManager(options: new ContextOptions());
        using JsonDocument default_ = JsonDocument.Parse(plain.Describe());
        Assert.False(default_.RootElement.GetProperty("strict").GetBoolean());
        Assert.Equal(Device.Cpu(), manager.Device);
        Assert.Equal(Device.Cpu(), manager.Ones(new Shape(1)).Device);
        Assert.Null(manager.ParentManager);
        Assert.Same(manager, manager.NewSubManager().ParentManager);
        manager.Synchronize();
        manager.Trim();

        // Arrays of two contexts on one device can be combined.
        Assert.Equal(new float[] { 2 }, manager.Ones(new Shape(1, 2)).MatMul(plain.Ones(new Shape(2))).ToFloatArray());
        Assert.Contains("NumThreads", Assert.Throws<ArgumentException>(
            () => NDManager.NewBaseManager(options: new ContextOptions { NumThreads = -1 })).Message);
        Assert.Throws<ArgumentException>(
            () => NDManager.NewBaseManager(options: new ContextOptions { NumThreads = int.MaxValue }));
    }

    [Fact]
    public void SaysWhyADeviceCannotBeUsed()
    {
        Assert.Equal(0, Device.GetCount("ascend"));
        HeedException error = Assert.Throws<HeedException>(() => NDManager.NewBaseManager(Device.Ascend()));
        Assert.Equal(Status.DeviceUnavailable, error.Status);
        Assert.StartsWith("device is Device.Ascend(0), but libheed_ascend.so is not in \"", error.Message);
        Assert.EndsWith("or its folder in HEED_PLUGIN_PATH", error.Message);

        // The CPU still works.
        using NDManager manager = NDManager.NewBaseManager();
        NDArray array = manager.Ones(new Shape(2));
        Assert.Throws<HeedException>(() => array.ToDevice(Device.Ascend()));
        Assert.Throws<HeedException>(() => manager.NewSubManager(Device.Ascend()));
        Assert.Equal(new float[] { 1, 1 }, array.ToFloatArray());
    }

    private static void Check(NDArray array, DataType type, Shape shape)
    {
        Assert.Equal(type, array.DataType);
        Assert.Equal(shape, array.Shape);
        Assert.Equal(shape.Size, array.Size);
    }

    [Fact]
    public void CollectionsAndArraysOfManyAxesMakeArrays()
    {
        using NDManager manager = TestDevice.NewManager();
        Assert.Equal(new[] { 1f, 2, 3 }, manager.Create(new List<float> { 1, 2, 3 }).ToFloatArray());
        Assert.Equal(new Shape(2, 2), manager.Create(Enumerable.Range(0, 4), new Shape(2, 2)).Shape);
        Assert.Equal(new[] { 0L, 2 }, manager.Create(new[] { 0L, 1 }.Select(each => 2 * each)).ToLongArray());
        Assert.Equal(DataType.UInt8, manager.Create(new HashSet<byte> { 1 }).DataType);
        Assert.Equal(new[] { true }, manager.Create(new Queue<bool>(new[] { true })).ToBooleanArray());
        Assert.Equal(new Shape(0), manager.Create(new List<double>()).Shape);
        Assert.Throws<ArgumentException>(() => manager.Create(new List<int> { 1 }, new Shape(2)));

        NDArray table = manager.Create(new[,] { { 1L, 2, 3 }, { 4, 5, 6 } });
        Assert.Equal(new Shape(2, 3), table.Shape);
        Assert.Equal(new[] { 1L, 2, 3, 4, 5, 6 }, table.ToLongArray());
        NDArray cube = manager.Create(new[,,] { { { 1.5f }, { 2.5f } } });
        Assert.Equal(new Shape(1, 2, 1), cube.Shape);
        Assert.Equal(new[] { 1.5f, 2.5f }, cube.ToFloatArray());
        Assert.Equal(new Shape(0, 3, 0), manager.Create(new int[0, 3, 0]).Shape);
        Assert.Throws<NotSupportedException>(() => manager.Create(new decimal[1, 1]));
    }
}
