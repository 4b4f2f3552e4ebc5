// SPDX-License-Identifier: Apache-2.0
using System;
using System.Buffers;
using System.Linq;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Xunit;

namespace Heed.Tests;

/// <summary>Elements written to and read from arrays, as .NET arrays, spans and memory.</summary>
public sealed class ArrayDataTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void EachTypeGoesInAndOut()
    {
        RoundTrip(manager.Create, DataType.Float32, array => array.ToFloatArray(), 1.5f, -0f, float.Epsilon, float.NaN);
        RoundTrip(manager.Create, DataType.Float64, array => array.ToDoubleArray(), 1e300, -1, double.NaN, 0);
        RoundTrip(manager.Create, DataType.Int32, array => array.ToIntArray(), int.MinValue, 0, 1, int.MaxValue);
        RoundTrip(manager.Create, DataType.Int64, array => array.ToLongArray(), long.MinValue, 0, 1, long.MaxValue);
        RoundTrip<sbyte>(manager.Create, DataType.Int8, array => array.ToArray<sbyte>(), sbyte.MinValue, 0, 1, 127);
        RoundTrip<byte>(manager.Create, DataType.UInt8, array => array.ToByteArray(), 0, 1, 2, byte.MaxValue);
        RoundTrip(manager.Create, DataType.Boolean, array => array.ToBooleanArray(), true, false, false, true);
    }

    [Fact]
    public void ScalarsAndRows()
    {
        Assert.Equal(new Shape(), manager.Create(2).Shape);
        Assert.Equal(new[] { 2 }, manager.Create(2).ToIntArray());
        Assert.Equal(new[] { 2L }, manager.Create(2L).ToLongArray());
        Assert.Equal(new[] { 2.0 }, manager.Create(2.0).ToDoubleArray());
        Assert.Equal(new[] { true }, manager.Create(true).ToBooleanArray());
        NDArray jagged = manager.Create(new[] { new[] { 1f, 2, 3 }, new[] { 4f, 5, 6 } });
        NDArray rectangular = manager.Create(new[,] { { 1f, 2, 3 }, { 4, 5, 6 } });
        foreach (NDArray array in new[] { jagged, rectangular })
        {
            Assert.Equal(new Shape(2, 3), array.Shape);
            Assert.Equal(new float[] { 1, 2, 3, 4, 5, 6 }, array.ToFloatArray());
        }
        Assert.Equal(new Shape(0, 0), manager.Create(Array.Empty<float[]>()).Shape);
        Assert.Equal(new Shape(0, 3), manager.Create(new float[0, 3]).Shape);
        Refused("data[1] is of 1 elements, expected 2", () => manager.Create(new[] { new[] { 1f, 2 }, new[] { 1f } }));
        Refused("data[1] is null", () => manager.Create(new[] { new[] { 1f, 2 }, null! }));
        Refused("data[0] is null", () => manager.Create(new float[][] { null! }));
    }

    [Fact]
    public void SpansGoInAndOut()
    {
        ReadOnlySpan<float> numbers = stackalloc float[] { 1, 2, 3, 4, 5, 6 };
        NDArray array = manager.Create(numbers, new Shape(2, 3));
        Assert.Equal(DataType.Float32, array.DataType);
        var copied = new float[8];
        array.CopyTo(copied.AsSpan(1));
        Assert.Equal(new float[] { 0, 1, 2, 3, 4, 5, 6, 0 }, copied);
        array.Set<float>(new float[] { 6, 5, 4, 3, 2, 1 }.AsSpan());
        Assert.Equal(new float[] { 6, 5, 4, 3, 2, 1 }, array.ToFloatArray());

        // A transposed view is written and read in its own order.
        NDArray turned = array.Transpose();
        turned.Set(new float[] { 1, 4, 2, 5, 3, 6 });
        Assert.Equal(new float[] { 1, 2, 3, 4, 5, 6 }, array.ToFloatArray());
        Assert.Equal(new float[] { 1, 4, 2, 5, 3, 6 }, turned.ToArray<float>());
        Assert.Empty(manager.Create(default(ReadOnlySpan<double>)).ToDoubleArray());
    }

    [Fact]
    public void AllSetsHaveTheirType()
    {
        NDArray doubles = manager.Zeros(new Shape(2), DataType.Float64);
        doubles.Set(new[] { 1.5, 2 });
        Assert.Equal(new[] { 1.5, 2 }, doubles.ToDoubleArray());
        NDArray ints = manager.Zeros(new Shape(2), DataType.Int32);
        ints.Set(new[] { 1, 2 });
        Assert.Equal(new[] { 1, 2 }, ints.ToIntArray());
        NDArray longs = manager.Zeros(new Shape(2), DataType.Int64);
        longs.Set(new[] { 1L, 2 });
        Assert.Equal(new[] { 1L, 2 }, longs.ToLongArray());
        NDArray bools = manager.Zeros(new Shape(2), DataType.Boolean);
        bools.Set(new[] { true, false });
        Assert.Equal(new[] { true, false }, bools.ToBooleanArray());
        Assert.Equal(
            "Set needs an array of Int32, this one is of Float64",
            Assert.Throws<InvalidOperationException>(() => doubles.Set(new[] { 1, 2 })).Message);
        Assert.Throws<InvalidOperationException>(() => longs.Set(new[] { 1f, 2 }));
        Refused("data has 3 elements, the array has 2", () => longs.Set(new[] { 1L, 2, 3 }));
    }

    /// <summary>Bits of binary16 and bfloat16 by their formats: 1 sign, 5 or 8 exponent, 10 or 7 mantissa.</summary>
    [Fact]
    public void TypesOf16BitsAreFloatsOrBits()
    {
        NDArray halves = manager.Create<ushort>(new ushort[] { 0x3e00, 0xc000, 0x7c00 }, null, DataType.Float16);
        Assert.Equal(new[] { 1.5f, -2, float.PositiveInfinity }, halves.ToFloatArray());
        Assert.Equal(1.5f, halves.GetFloat(0));
        halves.Set(new[] { 1f, 65520, 0.1f });
        Assert.Equal(new ushort[] { 0x3c00, 0x7c00, 0x2e66 }, halves.ToArray<ushort>());
        NDArray brains = manager.Create<ushort>(new ushort[] { 0x3fc0, 0xc000 }, null, DataType.BFloat16);
        Assert.Equal(new[] { 1.5f, -2 }, brains.ToFloatArray());
        brains.Set(new[] { 1.00390625f, 3 });
        Assert.Equal(new ushort[] { 0x3f80, 0x4040 }, brains.ToArray<ushort>());
        brains.Set<ushort>(new ushort[] { 0x3fc0, 0x4040 });
        Assert.Equal(new[] { 1.5f, 3 }, brains.ToFloatArray());

        Refused("name the type of the array", () => manager.Create<ushort>(new ushort[2]));
        Refused("no element of Float32", () => manager.Create<ushort>(new ushort[2], null, DataType.Float32));
        Assert.Throws<NotSupportedException>(() => manager.Create<char>(new char[2]));
        Assert.Throws<NotSupportedException>(() => halves.ToArray<decimal>());
        Assert.Contains(
            "needs an array of Float16 or BFloat16, this one is of Float32",
            Assert.Throws<InvalidOperationException>(() => manager.Ones(new Shape(1)).ToArray<ushort>()).Message);
    }

    /// <summary>Only the .NET 8 build has Half.</summary>
    [Fact]
    public void HalfIsFloat16InTheBuildForNet8()
    {
        Half[] numbers = { (Half)1.5f, Half.MinValue };
        string framework = typeof(NDArray).Assembly.GetCustomAttributes(typeof(TargetFrameworkAttribute), false)
            .Cast<TargetFrameworkAttribute>().Single().FrameworkName;
        if (framework.StartsWith(".NETStandard", StringComparison.Ordinal))
        {
            Assert.Throws<NotSupportedException>(() => manager.Create<Half>(numbers));
            return;
        }
        NDArray array = manager.Create<Half>(numbers);
        Assert.Equal(DataType.Float16, array.DataType);
        Assert.Equal(numbers, array.ToArray<Half>());
        Assert.Equal(new[] { 1.5f, -65504 }, array.ToFloatArray());
    }

    [Fact]
    public void BytesAreThoseOfAnyType()
    {
        byte[] bytes = MemoryMarshal.AsBytes(new[] { 1f, -2.5f }.AsSpan()).ToArray();
        NDArray array = manager.Create<byte>(bytes, new Shape(2, 1), DataType.Float32);
        Assert.Equal(new[] { 1f, -2.5f }, array.ToFloatArray());
        Assert.Equal(bytes, array.ToArray<byte>());
        array.Set<byte>(new byte[8]);
        Assert.Equal(new float[2], array.ToFloatArray());
        Assert.Equal(DataType.UInt8, manager.Create<byte>(bytes).DataType);
        Assert.Equal(new byte[] { 255, 1 }, manager.Create(new sbyte[] { -1, 1 }).ToByteArray());
        Assert.Throws<InvalidOperationException>(() => array.ToByteArray());
        Refused("data has 7 bytes", () => manager.Create<byte>(bytes.AsSpan(1), null, DataType.Float32));
        Refused("data has 4 elements, the array has 8", () => array.Set<byte>(new byte[4]));
    }

    /// <summary>Some code treats a .NET bool whose byte is neither 0 nor 1 as neither true nor false.</summary>
    [Fact]
    [Trait(TestDevice.Trait, "cpu")]
    public void BooleansAreZeroOrOne()
    {
        NDArray array = manager.Create<byte>(new byte[] { 0, 1, 2, 255 }, null, DataType.Boolean);
        var copied = new bool[4];
        array.CopyTo<bool>(copied);
        foreach (bool[] read in new[] { array.ToBooleanArray(), array.ToArray<bool>(), copied })
        {
            Assert.Equal(new byte[] { 0, 1, 1, 1 }, MemoryMarshal.AsBytes(read.AsSpan()).ToArray());
        }
        Assert.True(array.ContentEquals(manager.Create(new[] { false, true, true, true })));
        Assert.Throws<InvalidOperationException>(() => array.AsMemory<bool>());
        Assert.Equal(new byte[] { 0, 1, 2, 255 }, array.AsMemory<byte>().ToArray());
    }

    [Fact]
    public void SpansThatDoNotFitAreRefused()
    {
        NDArray array = manager.Ones(new Shape(2, 3));
        Refused("destination has room for 5 elements, the array has 6", () => array.CopyTo<float>(new float[5]));
        Refused("destination has room for 0 elements", () => array.CopyTo(default(Span<float>)));
        Refused("data has 0 elements, the array has 6", () => array.Set(default(ReadOnlySpan<float>)));
        Refused("data has 6 elements", () => manager.Create<float>(new float[6], new Shape(7)));
        Refused("data has 6 elements", () => manager.Create<float>(new float[6], new Shape(-2, -3)));
        Refused("data has 6 elements", () => manager.Create<float>(new float[6], new Shape(-1, 6)));
        Refused("data has 6 elements", () => manager.Create<float>(new float[6], new Shape(1L << 40, 1L << 40)));
        Refused("data has 0 elements", () => manager.Create(default(ReadOnlySpan<float>), new Shape()));
        Assert.Throws<InvalidOperationException>(() => array.CopyTo<double>(new double[6]));
    }

    [Fact]
    [Trait(TestDevice.Trait, "cpu")]
    public void MemoryIsThatOfTheArray()
    {
        NDArray array = manager.Create(new float[] { 1, 2, 3, 4, 5, 6 }, new Shape(2, 3));
        Memory<float> memory = array.AsMemory<float>();
        Assert.Equal(6, memory.Length);
        memory.Span[4] = 50;
        array[0].Set(new float[] { 10, 20, 30 });
        Assert.Equal(new float[] { 10, 20, 30, 4, 50, 6 }, memory.ToArray());
        Assert.Equal(new float[] { 10, 20, 30, 4, 50, 6 }, array.ToFloatArray());
        Assert.Equal(new float[] { 4, 50, 6 }, array[1].AsMemory<float>().ToArray());

        // A column has gaps, except for one of a single row.
        Assert.Contains(
            "Duplicate()",
            Assert.Throws<InvalidOperationException>(() => array.Slice(1, 0, 1).AsMemory<float>()).Message);
        Assert.Throws<InvalidOperationException>(() => array.Transpose().AsMemory<float>());
        Assert.Equal(new float[] { 20 }, array.Slice(0, 0, 1).Slice(1, 1, 1).AsMemory<float>().ToArray());
        Assert.Equal(
            new float[] { 10, 4, 20, 50, 30, 6 }, array.Transpose().Duplicate().AsMemory<float>().ToArray());
        Assert.Throws<InvalidOperationException>(() => array.AsMemory<int>());
        Assert.True(manager.Zeros(new Shape(3, 0)).AsMemory<float>().IsEmpty);
    }

    /// <summary>Memory that stays valid although the program does not keep the array.</summary>
    [Fact]
    [Trait(TestDevice.Trait, "cpu")]
    public void MemoryOutlivesItsArray()
    {
        using NDManager scope = manager.NewSubManager();
        NDArray array = scope.Create(new float[] { 1, 2, 3 });
        Memory<float> memory = array.AsMemory<float>();
        using MemoryHandle pin = memory.Pin();
        scope.Dispose();
        Assert.Throws<ObjectDisposedException>(() => array.ToFloatArray());
        for (int i = 0; i < 50; i++)
        {
            manager.Full(new Shape(3), 9).Dispose();
        }
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Assert.Equal(new float[] { 1, 2, 3 }, memory.ToArray());
        unsafe
        {
            Assert.Equal(3, ((float*)pin.Pointer)[2]);
        }

        Assert.True(MemoryMarshal.TryGetMemoryManager<float, MemoryManager<float>>(memory, out var owner));
        Assert.Throws<ArgumentOutOfRangeException>(() => owner!.Pin(4));
        ((IDisposable)owner!).Dispose();
        Assert.Throws<ObjectDisposedException>(() => owner.GetSpan());
        Assert.Throws<ObjectDisposedException>(() => memory.Span.Length);
    }

    [Fact]
    public void ElementsByIndexOfOtherTypes()
    {
        Assert.Equal(-3, manager.Create(new sbyte[] { -3 }).GetLong(0));
        Assert.Equal(255, manager.Create(new byte[] { 255 }).GetLong(0));
        Assert.Throws<InvalidOperationException>(() => manager.Create(1.0).GetFloat());
    }

    private static void Refused(string words, Action use) =>
        Assert.Contains(words, Assert.ThrowsAny<ArgumentException>(use).Message);

    private static void RoundTrip<T>(
        Func<T[], Shape?, NDArray> create, DataType type, Func<NDArray, T[]> read, params T[] numbers)
        where T : unmanaged
    {
        NDArray array = create(numbers, null);
        Assert.Equal(type, array.DataType);
        Assert.Equal(new Shape(numbers.Length), array.Shape);
        Assert.Equal(numbers, read(array));
        Assert.Equal(numbers, array.ToArray<T>());
        Assert.Equal(numbers, create(numbers, new Shape(2, -1 + 3)).ToArray<T>());
        Assert.Equal(numbers.Length * array.DataType.NumOfBytes(), array.ToArray<byte>().Length);
    }
}
