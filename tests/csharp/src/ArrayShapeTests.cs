// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Views and copies in other shapes, compared with index arithmetic element by element.</summary>
public sealed class ArrayShapeTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();

    /// <summary>Shape (2, 3, 4); element (i, j, k) is 12 i + 4 j + k.</summary>
    private readonly NDArray cube;

    /// <summary>Its elements with the axes in reverse order.</summary>
    private readonly int[] turned =
        (from k in Range(0, 4) from j in Range(0, 3) from i in Range(0, 2) select Element(i, j, k)).ToArray();

    public ArrayShapeTests()
    {
        cube = manager.Arange(24).Reshape(2, 3, 4);
    }

    public void Dispose() => manager.Dispose();

    [Fact]
    public void IndexersGiveViews()
    {
        Same(new Shape(3, 4), Range(12, 24), cube[1]);
        Same(new Shape(4), Range(8, 12), cube[0, -1]);
        Same(new Shape(), new[] { 23 }, cube[-1, -1, -1]);
        Same(cube.Shape, Range(0, 24), cube[Array.Empty<long>()]);
        cube[1, 2].Set(new[] { -1, -2, -3, -4 });
        Assert.Equal(Range(0, 20).Concat(new[] { -1, -2, -3, -4 }), cube.ToIntArray());
        Assert.Throws<ArgumentOutOfRangeException>(() => cube[2]);
        Assert.Throws<ArgumentException>(() => cube[0, 0, 0, 0]);
        Assert.Throws<ArgumentNullException>(() => cube[null!]);
    }

    [Fact]
    public void Reshapes()
    {
        Same(new Shape(4, 6), Range(0, 24), cube.Reshape(4, -1));
        Same(new Shape(24), Range(0, 24), cube.Reshape(new Shape(-1)));
        Same(new Shape(24), Range(0, 24), cube.Flatten());
        Same(new Shape(1), new[] { 5 }, manager.Create(5).Flatten());
        Same(new Shape(0), Array.Empty<int>(), manager.Zeros(new Shape(2, 0), DataType.Int32).Flatten());
        Assert.Throws<ArgumentException>(() => cube.Reshape(5, 5));
        Assert.Throws<ArgumentException>(() => cube.Reshape(-1, -1));
        Assert.Throws<ArgumentException>(() => cube.Reshape());
        Assert.Throws<ArgumentException>(() => cube.Reshape(1L << 40, 1L << 40));

        // A view if possible, so that writes reach the array; otherwise a copy.
        NDArray view = cube.Reshape(6, 4);
        NDArray copy = cube.Transpose().Reshape(24);
        view.Set(new int[24]);
        Assert.Equal(new int[24], cube.ToIntArray());
        Same(new Shape(24), turned, copy);
    }

    [Fact]
    public void ReordersAxes()
    {
        Same(new Shape(4, 3, 2), turned, cube.Transpose());
        Same(new Shape(4, 3, 2), turned, cube.Transpose(2, 1, 0));
        Same(new Shape(4, 3, 2), turned, cube.SwapAxes(0, -1));
        int[] middle =
            (from j in Range(0, 3) from i in Range(0, 2) from k in Range(0, 4) select Element(i, j, k)).ToArray();
        Same(new Shape(3, 2, 4), middle, cube.Transpose(1, 0, 2));
        Same(new Shape(3, 2, 4), middle, cube.SwapAxes(1, 0));
        Same(new Shape(), new[] { 7 }, manager.Create(7).Transpose());
        Assert.Throws<ArgumentException>(() => cube.Transpose(0, 1));
        Assert.Throws<ArgumentException>(() => cube.Transpose(0, 1, 1));
        Assert.Throws<ArgumentException>(() => cube.Transpose(0, 1, 3));
        Assert.Throws<ArgumentException>(() => cube.Transpose(0, 1, int.MinValue));
        Assert.Throws<ArgumentOutOfRangeException>(() => cube.SwapAxes(0, 3));
        Assert.Throws<ArgumentOutOfRangeException>(() => cube.SwapAxes(-4, 0));
    }

    [Fact]
    public void AddsAndDropsAxes()
    {
        Assert.Equal(new Shape(1, 2, 3, 4), cube.ExpandDims(0).Shape);
        Assert.Equal(new Shape(2, 3, 1, 4), cube.ExpandDims(2).Shape);
        Assert.Equal(new Shape(2, 3, 4, 1), cube.ExpandDims(-1).Shape);
        Assert.Equal(new Shape(2, 3, 4, 1), cube.ExpandDims(3).Shape);
        Assert.Throws<ArgumentOutOfRangeException>(() => cube.ExpandDims(4));
        Assert.Throws<ArgumentOutOfRangeException>(() => cube.ExpandDims(-5));
        NDArray thin = cube.Reshape(1, 2, 1, 12);
        Assert.Equal(new Shape(2, 12), thin.Squeeze().Shape);
        Assert.Equal(new Shape(1, 2, 12), thin.Squeeze(2).Shape);
        Assert.Equal(new Shape(2, 12), thin.Squeeze(0, -2).Shape);
        Assert.Throws<ArgumentException>(() => thin.Squeeze(1));
        Assert.Throws<ArgumentOutOfRangeException>(() => thin.Squeeze(4));
        Assert.Equal(4, cube.GetSize(-1));
        Assert.Equal(2, cube.GetSize(0));
        Assert.Throws<ArgumentOutOfRangeException>(() => cube.GetSize(3));

        // Also for an array that is not row-major.
        Same(new Shape(4, 3, 1, 2), cube.Transpose().ToIntArray(), cube.Transpose().ExpandDims(2));
    }

    [Fact]
    public void SlicesAndRepeats()
    {
        Same(new Shape(2, 1, 4), Range(4, 8).Concat(Range(16, 20)).ToArray(), cube.Slice(1, 1, 1));
        Same(new Shape(2, 3, 2), new[] { 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23 }, cube.Slice(-1, -2, 2));
        Assert.Equal(0, cube.Slice(0, 2, 0).Size);
        Assert.Throws<ArgumentException>(() => cube.Slice(0, 1, 2));
        Assert.Throws<ArgumentException>(() => cube.Slice(3, 0, 1));
        Assert.Throws<ArgumentException>(() => cube.Slice(0, 0, -1));
        Assert.Throws<ArgumentException>(() => cube.Slice(0, long.MaxValue, long.MaxValue));

        NDArray square = manager.Create(new[] { 1, 2, 3, 4 }, new Shape(2, 2));
        Same(new Shape(4, 2), new[] { 1, 2, 1, 2, 3, 4, 3, 4 }, square.Repeat(0, 2));
        Same(new Shape(2, 6), new[] { 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4 }, square.Repeat(-1, 3));
        Same(new Shape(2, 4), new[] { 1, 1, 3, 3, 2, 2, 4, 4 }, square.Transpose().Repeat(1, 2));
        Assert.Equal(new Shape(0, 2), square.Repeat(0, 0).Shape);
        Assert.Throws<ArgumentOutOfRangeException>(() => square.Repeat(2, 2));
        Assert.Throws<ArgumentOutOfRangeException>(() => square.Repeat(0, -1));
        Assert.Throws<ArgumentOutOfRangeException>("repeats", () => square.Repeat(0, long.MaxValue));
        Assert.ThrowsAny<ArgumentException>(() => square.Repeat(0, long.MaxValue / 2));
        Assert.Equal(2, manager.Ones(new Shape(1, 1, 1, 1, 1, 1, 1, 1)).Repeat(7, 2).Size);

        Same(new Shape(2, 2, 2), new[] { 1, 2, 3, 4, 1, 2, 3, 4 }, square.Broadcast(new Shape(2, 2, 2)));
        Same(new Shape(2, 3), new[] { 1, 1, 1, 3, 3, 3 }, square.Slice(1, 0, 1).Broadcast(new Shape(2, 3)));
        Assert.Throws<ArgumentException>(() => square.Broadcast(new Shape(2, 3)));
    }

    private static int Element(int i, int j, int k) => (12 * i) + (4 * j) + k;

    private static int[] Range(int start, int stop) => Enumerable.Range(start, stop - start).ToArray();

    private static void Same(Shape shape, int[] elements, NDArray array)
    {
        Assert.Equal(shape, array.Shape);
        Assert.Equal(elements, array.ToIntArray());
    }
}
