// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
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
    public void ShapeHasTheOperatorsOfEquality()
    {
        Shape? none = null;
        Assert.True(new Shape(2, 3) == new Shape(2, 3));
        Assert.False(new Shape(2, 3) == new Shape(3, 2));
        Assert.True(new Shape(2, 3) != new Shape(2));
        Assert.False(new Shape() != new Shape());
        Assert.True(none == null);
        Assert.False(none == new Shape());
        Assert.True(new Shape() != none);
    }

    [Fact]
    public void AnAxisThatIsNotThereIsNamed()
    {
        string Refused(Shape shape, int index) =>
            Assert.Throws<IndexOutOfRangeException>(() => shape[index]).Message;
        Assert.Equal("index is 2, expected 0 to 1: the shape is (2, 4)", Refused(new Shape(2, 4), 2));
        Assert.Equal("index is -1, expected 0 to 1: the shape is (2, 4)", Refused(new Shape(2, 4), -1));
        Assert.Equal("index is 0, but a scalar has no axes: the shape is ()", Refused(new Shape(), 0));
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
        DataType[] all = Enum.GetValues<DataType>();
        Assert.Equal(9, all.Length);
        Assert.Equal(
            new[] { DataType.Int32, DataType.Int64, DataType.Int8, DataType.UInt8 },
            all.Where(type => type.IsInteger()));
        Assert.Equal(new[] { DataType.Boolean }, all.Where(type => type.IsBoolean()));
        Assert.Throws<ArgumentOutOfRangeException>(() => ((DataType)99).NumOfBytes());
    }

    [Fact]
    public void ShapesAreJoinedAndCut()
    {
        var shape = new Shape(2, 4, 100);
        Assert.Equal(new Shape(2, 4, 100, 7, 8), shape.Add(7, 8));
        Assert.Equal(shape, shape.AddAll(new Shape()));
        Assert.Equal(new Shape(2, 4, 100, 2, 4, 100), shape.AddAll(shape));
        Assert.Equal(new Shape(4, 100), shape.Slice(1));
        Assert.Equal(new Shape(4), shape.Slice(1, 2));
        Assert.Equal(new Shape(), shape.Slice(3));
        foreach ((int begin, int? end) in new (int, int?)[] { (-1, null), (4, null), (2, 1), (0, 4) })
        {
            Assert.Throws<ArgumentOutOfRangeException>(() => shape.Slice(begin, end));
        }
        Assert.Equal((2, 100, false), (shape.Head, shape.Tail, shape.IsScalar));
        Assert.True(new Shape().IsScalar);
        Assert.Throws<InvalidOperationException>(() => new Shape().Head);
        Assert.Throws<InvalidOperationException>(() => new Shape().Tail);
        Assert.Equal(200, shape.GetSize(0, 2));
        Assert.Equal(1, shape.GetSize());
        Assert.Throws<ArgumentOutOfRangeException>(() => shape.GetSize(3));
        Assert.Equal(-1, new Shape(2, -1).Size);
        Assert.Equal(0, new Shape(1L << 40, 1L << 40, 0).Size);
    }

    /// <summary>The bytes are those of DJL's Shape.getEncoded, written out by hand.</summary>
    [Fact]
    public void ShapesAreEncodedAsDjlDoes()
    {
        byte[] expected = { 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 2, 0, 63, 0, 63 };
        Assert.Equal(expected, new Shape(3, 258).GetEncoded());
        using var stream = new MemoryStream();
        foreach (Shape shape in new[] { new Shape(3, 258), new Shape(), new Shape(-1, long.MaxValue) })
        {
            stream.Write(shape.GetEncoded());
        }
        stream.Position = 0;
        Assert.Equal(new Shape(3, 258), Shape.Decode(stream));
        Assert.Equal(new Shape(), Shape.Decode(stream));
        Assert.Equal(new Shape(-1, long.MaxValue), Shape.Decode(stream));
        for (int length = 0; length < expected.Length; length++)
        {
            Assert.Throws<EndOfStreamException>(() => Shape.Decode(new MemoryStream(expected, 0, length)));
        }
        foreach (int wrong in new[] { 0, 1, 2, 20, 23 })
        {
            byte[] bytes = (byte[])expected.Clone();
            bytes[wrong] = 0xff;
            Assert.Throws<InvalidDataException>(() => Shape.Decode(new MemoryStream(bytes)));
        }
    }

    [Fact]
    public void AMalformedModelSaysWhatIsWrong()
    {
        var cause = new EndOfStreamException("the end");
        var error = new MalformedModelException("no block", cause);
        Assert.Equal("no block", error.Message);
        Assert.Same(cause, error.InnerException);
    }

    [Fact]
    public void DevicesAreEqualByKindAndIndex()
    {
        Assert.Equal("cpu()", Device.Cpu().ToString());
        Assert.Equal("ascend(1)", Device.Ascend(1).ToString());
        Assert.Equal(("cpu", 0), (Device.Cpu().DeviceType, Device.Cpu().DeviceId));
        Assert.Equal(("ascend", 3), (Device.Ascend(3).DeviceType, Device.Ascend(3).DeviceId));
        Assert.Equal(Device.Ascend(2), Device.Ascend(2));
        Assert.Equal(Device.Ascend(2).GetHashCode(), Device.Ascend(2).GetHashCode());
        Assert.NotEqual(Device.Ascend(), Device.Ascend(1));
        Assert.False(Device.Cpu().Equals(Device.Ascend()));
        Assert.False(Device.Cpu().Equals(null));
        Assert.Equal(Device.Cpu(), Device.FromName("cpu"));
        Assert.Equal(Device.Ascend(), Device.FromName("ascend"));
        Assert.Equal(Device.Ascend(12), Device.FromName("ascend12"));
        foreach (string name in new[] { "", "gpu", "cpu0", "Ascend", "ascend(0)", "ascend-1", "ascend9999999999", "ascend\n" })
        {
            Assert.Contains(
                $"deviceName is \"{name}\", expected \"cpu\", \"ascend\" or, with an index, \"ascend0\"",
                Assert.Throws<ArgumentException>(() => Device.FromName(name)).Message);
        }
        Assert.Throws<ArgumentOutOfRangeException>(() => Device.Ascend(-1));
        Assert.Equal(1, Device.GetCount("cpu"));
        Assert.InRange(Device.GetCount("ascend"), 0, 1024);
        Assert.Contains("\"gpu\"", Assert.Throws<ArgumentException>(() => Device.GetCount("gpu")).Message);
        Assert.Equal(
            "ContextOptions(NumThreads=2, Strict=False, AllowReducedPrecision=False)",
            new ContextOptions { NumThreads = 2 }.ToString());
        Assert.Equal(
            "ContextOptions(NumThreads=0, Strict=False, AllowReducedPrecision=False, FlushSubnormals=True)",
            new ContextOptions { FlushSubnormals = true }.ToString());
    }
}
