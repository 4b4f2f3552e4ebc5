// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Reflection;
using Xunit;

namespace Heed.Tests;

public class NDArrayTests
{
    [Fact]
    public void WidensFloatsOf16Bits()
    {
        // 1.5, -2 and the largest finite number of each type.
        using var folder = new TestFolder();
        string file = TestFiles.Write(
            folder["halves"],
            "{\"f16\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,6]},"
            + "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[6,12]}}",
            Bytes(0x3e00, 0xc000, 0x7bff, 0x3fc0, 0xc000, 0x7f7f));
        using NDManager manager = TestDevice.NewManager();
        Assert.Equal(new[] { 1.5f, -2, 65504 }, manager.Load(file, "f16").ToFloatArray());
        float largest = BitConverter.UInt32BitsToSingle(0x7f7f0000);
        Assert.Equal(new[] { 1.5f, -2, largest }, manager.Load(file, "bf16").ToFloatArray());
    }

    [Fact]
    public void RefusesToBeReadAsAnotherType()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray floats = manager.Ones(new Shape(2));
        NDArray longs = manager.Ones(new Shape(2), DataType.Int64);
        NDArray doubles = manager.Ones(new Shape(2), DataType.Float64);
        Assert.Throws<InvalidOperationException>(() => floats.ToIntArray());
        Assert.Throws<InvalidOperationException>(() => floats.ToLongArray());
        Assert.Throws<InvalidOperationException>(() => floats.ToDoubleArray());
        Assert.Throws<InvalidOperationException>(() => longs.ToIntArray());
        Assert.Throws<InvalidOperationException>(() => doubles.ToFloatArray());
        Assert.Equal(
            "ToFloatArray needs an array of Float32, Float16 or BFloat16, this one is of Int64",
            Assert.Throws<InvalidOperationException>(() => longs.ToFloatArray()).Message);
    }

    /// <summary>Of a shape-only array, which takes no memory, and which the public classes cannot create.</summary>
    [Theory]
    [InlineData(DataType.Float32)]
    [InlineData(DataType.BFloat16)]
    [InlineData(DataType.Int64)]
    public unsafe void RefusesToGiveMoreThanAManagedArrayHolds(DataType type)
    {
        const BindingFlags Any =
            BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance;
        Assembly heed = typeof(NDArray).Assembly;
        object context = heed.GetType("Heed.Library")!.GetProperty("Context", Any)!.GetValue(null)!;
        MethodInfo wrap = heed.GetType("Heed.NativeTensor")!.GetMethod("Wrap", Any)!;
        long elements = 1L << 31;
        object dims = Pointer.Box(&elements, typeof(long*));
        object shapeOnly = Pointer.Box(null, typeof(void*));
        using var tensor = (IDisposable)wrap.Invoke(null, new object[] { context, (int)type, 1, dims, shapeOnly })!;
        using NDManager manager = TestDevice.NewManager();
        ConstructorInfo over = typeof(NDArray).GetConstructors(Any)[0];
        using var array = (NDArray)over.Invoke(new object?[] { manager, tensor, null });
        Func<object> use = type == DataType.Int64 ? array.ToLongArray : array.ToFloatArray;
        Assert.Equal(
            "the array has 2147483648 elements, more than a .NET array can hold",
            Assert.Throws<InvalidOperationException>(use).Message);
    }

    [Fact]
    public void HasAText()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray array = manager.Ones(new Shape(2, 3), DataType.BFloat16);
        Assert.StartsWith("NDArray (2, 3) bfloat16", array.ToString());
        Assert.Same(manager, array.Manager);
        array.Dispose();
        Assert.Equal("NDArray (2, 3) bfloat16 (closed)", array.ToString());
        Assert.Same(manager, array.Manager);
    }

    /// <summary>Equals compares references; ContentEquals compares elements.</summary>
    [Fact]
    public void EqualsItselfAlone()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray array = manager.Create(new[] { 1L, 3 });
        Assert.False(array.Equals(array.Duplicate()));
    }

    [Fact]
    public void CannotBeUsedOnceDisposed()
    {
        using NDManager manager = TestDevice.NewManager();
        NDArray array = manager.Ones(new Shape(2));
        array.Dispose();
        array.Dispose();
        foreach (Func<object> use in new Func<object>[]
        {
            () => array.Shape, () => array.DataType, () => array.Size, array.ToFloatArray, array.ToDoubleArray,
            array.ToIntArray, array.ToLongArray,
        })
        {
            Assert.Contains("the array is closed", Assert.Throws<ObjectDisposedException>(use).Message);
        }
    }

    private static byte[] Bytes(params ushort[] halves) => halves.SelectMany(BitConverter.GetBytes).ToArray();
}
