// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Shape, DataType and Status.</summary>
public class ValueTests
{
    [Fact]
    public void ShapeGivesItsSizes()
    {
        var shape = new Shape(2, 4, 100);
        Assert.Equal(3, shape.Dimension);
        Assert.Equal(4, shape[1]);
        Assert.Equal(800, shape.Size);
        Assert.Equal(new long[] { 2, 4, 100 }, shape.ToArray());
        Assert.Equal(new long[] { 2, 4, 100 }, shape.Select(dim => dim).ToArray());
        Assert.Equal("(2, 4, 100)", shape.ToString());
        Assert.Throws<IndexOutOfRangeException>(() => shape[3]);
        Assert.Equal(1, new Shape().Size);
        Assert.Equal("()", new Shape().ToString());
        Assert.Throws<OverflowException>(() => new Shape(1L << 40, 1L << 40).Size);
        Assert.Throws<ArgumentNullException>(() => new Shape(null!));
    }

    [Fact]
    public void ShapeIsImmutable()
    {
        long[] dims = { 2, 3 };
        var shape = new Shape(dims);
        dims[0] = 7;
        shape.ToArray()[1] = 7;
        Assert.Equal(new long[] { 2, 3 }, shape.ToArray());
    }

    [Fact]
    public void ShapeIsEqualByItsSizes()
    {
        Assert.True(new Shape(2, 3).Equals(new Shape(2, 3)));
        Assert.True(new Shape(2, 3).Equals((object)new Shape(2, 3)));
        Assert.Equal(new Shape(2, 3).GetHashCode(), new Shape(2, 3).GetHashCode());
        Assert.False(new Shape(2, 3).Equals(new Shape(3, 2)));
        Assert.False(new Shape(2, 3).Equals((object)"(2, 3)"));
        Assert.False(new Shape(2, 3).Equals(null));
    }

    [Fact]
    public void DataTypeKnowsItsSizeAndKind()
    {
        foreach ((DataType type, int numBytes, bool floating) in new[]
        {
            (DataType.Float32, 4, true), (DataType.Float16, 2, true), (DataType.BFloat16, 2, true),
            (DataType.Float64, 8, true), (DataType.Int32, 4, false), (DataType.Int64, 8, false),
            (DataType.Int8, 1, false), (DataType.UInt8, 1, false), (DataType.Boolean, 1, false),
        })
        {
            Assert.Equal(numBytes, type.NumOfBytes());
            Assert.Equal(floating, type.IsFloating());
        }
        Assert.Equal(9, Enum.GetValues<DataType>().Length);
        Assert.Throws<ArgumentOutOfRangeException>(() => ((DataType)99).NumOfBytes());
    }
}
