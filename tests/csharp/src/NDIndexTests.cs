// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Indices, numbers and rows as C# writes them. What they mean is in tests/bindings/cases/index_table.txt.</summary>
public sealed class NDIndexTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly NDArray cube;

    public NDIndexTests() => cube = manager.Arange(24).Reshape(2, 3, 4);

    public void Dispose() => manager.Dispose();

    [Fact]
    public void NumbersAndPartsConvert()
    {
        Assert.Equal(new[] { 20, 21, 22, 23 }, cube[1, 2].ToIntArray());
        Assert.Equal(new[] { 3, 7, 11, 15, 19, 23 }, cube[NDIndex.Ellipsis, -1].ToIntArray());
        Assert.Equal(new Shape(1, 2, 2, 4), cube[NDIndex.NewAxis, NDIndex.Slice(), NDIndex.Slice(1)].Shape);
        Assert.Equal(new[] { 3, 1 }, cube[0, 0, NDIndex.Slice(step: -2)].ToIntArray());
        int row = 1;
        Assert.Equal(new Shape(4), cube[row, NDIndex.Slice(0, 1), NDIndex.Slice()].Squeeze().Shape);
    }

#if HEED_OF_NET8
    [Fact]
    public void RangesConvert()
    {
        Assert.Equal(new[] { 21, 22 }, cube[^1, ^1, 1..3].ToIntArray());
        Assert.Equal(new[] { 22, 23 }, cube[1, 2, ^2..].ToIntArray());
        Assert.Equal(new[] { 20, 21, 22 }, cube[1, 2, ..^1].ToIntArray());
        Assert.Equal(new Shape(2, 0, 4), cube[.., ^0..].Shape);
        Assert.Equal(cube.ToIntArray(), cube[..].ToIntArray());
        cube[.., 0, ^1] = 7;
        Assert.Equal(new[] { 7, 7 }, cube[.., 0, 3].ToIntArray());
        string message = Assert.Throws<ArgumentOutOfRangeException>(() => cube[.., ^4]).Message;
        Assert.Contains("index 1 is for axis 1 of size 3, expected -3 to 2: the array has the shape (2, 3, 4)", message);
        Assert.Contains("^4", message);
        Assert.Throws<ArgumentOutOfRangeException>(() => cube[^0]);
        Assert.Throws<ArgumentOutOfRangeException>(() => cube[1..4]);
        Assert.Throws<ArgumentOutOfRangeException>(() => cube[.., 2..1]);
        Assert.Equal("1..^1", $"{(NDIndex)(1..^1)}");
        Assert.Equal("0..^0", $"{(NDIndex)(..)}");
    }
#endif

    [Fact]
    public void AMaskMayBeTheArrayInAnotherOrder()
    {
        NDArray truths = manager.Create(new[] { false, true, false, false }, new Shape(2, 2));
        truths[truths.Transpose()] = true;
        Assert.Equal(new[] { false, true, true, false }, truths.ToBooleanArray());
        truths[truths.Flip(0)] = true;
        Assert.Equal(new[] { true, true, true, true }, truths.ToBooleanArray());
    }

    [Fact]
    public void WholeNumbersAreSetExactly()
    {
        NDArray numbers = manager.Arange(2).ToType(DataType.Int64, true);
        numbers[1] = long.MaxValue;
        numbers[numbers.Eq(0)] = long.MinValue;
        Assert.Equal(new[] { long.MinValue, long.MaxValue }, numbers.ToLongArray());
    }

    [Fact]
    public void ArraysAndMasksConvert()
    {
        NDArray rows = manager.Create(new long[] { 1, 0 });
        Assert.Equal(new[] { 12, 0 }, cube[rows, 0, 0].ToIntArray());
        Assert.Equal(new Shape(2, 2, 4), cube[NDIndex.Slice(), rows].Shape);
        cube[cube < 5] = 0;
        Assert.Equal(new[] { 0, 0, 0, 0, 0, 5, 6 }, cube.Flatten()[NDIndex.Slice(0, 7)].ToIntArray());
        cube[rows] += 100;
        Assert.Equal(123, cube.GetLong(1, 2, 3));
        Assert.Equal("array (2) int64", $"{(NDIndex)rows}");
        Exception error = Assert.Throws<ArgumentException>(() => cube[manager.Ones(new Shape(1))]);
        Assert.StartsWith("array is of Float32, expected Int32 or Int64 for indices, or Boolean for a mask: use ToType", error.Message);
        Assert.Throws<ArgumentNullException>(() => cube[0, (NDArray)null!]);
        NDIndex index = rows;
        rows.Dispose();
        Assert.Throws<ObjectDisposedException>(() => cube[index]);
    }

    [Fact]
    public void APartIsDescribed()
    {
        Assert.Equal("-2", $"{(NDIndex)(-2)}");
        Assert.Equal("..", $"{NDIndex.Slice()}");
        Assert.Equal("1..5 by 2", $"{NDIndex.Slice(1, 5, 2)}");
        Assert.Equal("... new axis", $"{NDIndex.Ellipsis} {NDIndex.NewAxis}");
    }

    [Fact]
    public void PartsAreSet()
    {
        cube[0, 0] = manager.Create(new[] { 1.9f, -1.9f, 3, 4 });
        Assert.Equal(new[] { 1, -1, 3, 4 }, cube[0, 0].ToIntArray());
        cube[1, 2, 3] = 2.0;
        Assert.Equal(2, cube.GetLong(1, 2, 3));
        Assert.Throws<ArgumentException>(() => cube[1, 2, 3] = 2.5);
        cube[0] = 5;
        Assert.Equal(Enumerable.Repeat(5, 12), cube[0].ToIntArray());
        NDArray flags = manager.Zeros(new Shape(2), DataType.Boolean);
        flags[1] = true;
        Assert.Equal(new[] { false, true }, flags.ToBooleanArray());
        flags[NDIndex.Ellipsis] = false;
        Assert.Equal(new[] { false, false }, flags.ToBooleanArray());

        // A number may be set more than once.
        NDArray number = 3;
        cube[0, 0] = number;
        cube[0, 1] = number;
        Assert.Equal(3, number.Item<long>());
        Assert.Equal(3, cube.GetLong(0, 1, 3));
        Assert.Throws<ArgumentNullException>(() => cube[0] = null!);
        Assert.Throws<ArgumentException>(() => cube[0] = cube);
    }

    [Fact]
    public void ANumberChangesNoSeeds()
    {
        float[] First(bool isAfterNumber)
        {
            NDArray? number = isAfterNumber ? 1.5 : null;
            using NDManager made = TestDevice.NewManager();
            made.SetSeed(1);
            Assert.True(number is null || number.Item<double>() == 1.5);
            return made.RandomUniform(0, 1, new Shape(4)).ToFloatArray();
        }

        Assert.Equal(First(false), First(true));
    }

    [Fact]
    public void AnItemIsTheOnlyElement()
    {
        Assert.Equal(23, cube[1, 2, 3].Item<int>());
        Assert.Equal(1.5f, manager.Full(new Shape(1, 1), 1.5f, DataType.BFloat16).Item<float>());
        Assert.True(manager.Create(true).Item<bool>());
        Assert.Equal(
            "Item needs an array of one element, this one has the shape (2, 3, 4)",
            Assert.Throws<InvalidOperationException>(() => cube.Item<int>()).Message);
        Assert.Contains("this one is of Int32", Assert.Throws<InvalidOperationException>(() => cube[0, 0, 0].Item<long>()).Message);
        Assert.Throws<InvalidOperationException>(() => manager.Create(1f).Item<byte>());
        Assert.Throws<NotSupportedException>(() => cube[0, 0, 0].Item<decimal>());
    }

    [Fact]
    [Trait("Device", "cpu")]
    public void ASpanIsTheMemory()
    {
        Span<int> elements = cube.AsSpan<int>();
        Assert.Equal(24, elements.Length);
        elements[23] = -1;
        Assert.Equal(-1, cube.GetLong(1, 2, 3));
        Span<int> row = cube[1, 0].AsSpan<int>();
        row.Fill(9);
        Assert.Equal(new[] { 9, 9, 9, 9 }, cube[1, 0].ToIntArray());
        Assert.True(manager.Zeros(new Shape(0)).AsSpan<float>().IsEmpty);
        Exception flipped = Assert.Throws<InvalidOperationException>(() => cube.Flip().AsSpan<int>().Length);
        Assert.Contains("use AsSpan of its Duplicate()", flipped.Message);
        Assert.Throws<InvalidOperationException>(() => cube.AsSpan<float>().Length);
        using var linear = new Linear(2);
        linear.Initialize(manager, DataType.Float32, new Shape(1, 3));
        NDArray weight = linear.Parameters[0].Value.Array;
        Assert.Contains("is a parameter's", Assert.Throws<InvalidOperationException>(() => weight.AsSpan<float>().Length).Message);
    }

    [Fact]
    public void RowsAreViews()
    {
        var rows = new List<int[]>();
        foreach (NDArray row in cube[1])
        {
            rows.Add(row.ToIntArray());
            row[0] = 0;
        }
        Assert.Equal(new[] { new[] { 12, 13, 14, 15 }, new[] { 16, 17, 18, 19 }, new[] { 20, 21, 22, 23 } }, rows);
        Assert.Equal(new[] { 0, 0, 0 }, cube[1, NDIndex.Slice(), 0].ToIntArray());
        Assert.Throws<InvalidOperationException>(() => manager.Create(1f).GetEnumerator());
    }
}
