// SPDX-License-Identifier: Apache-2.0
using System;
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

    private static void Check(NDArray array, DataType type, Shape shape)
    {
        Assert.Equal(type, array.DataType);
        Assert.Equal(shape, array.Shape);
        Assert.Equal(shape.Size, array.Size);
    }
}
