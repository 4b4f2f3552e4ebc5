// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Operations of arrays, compared with the formulas.</summary>
public sealed class ArrayMathTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();

    public void Dispose() => manager.Dispose();

    /// <summary>Small integers, so that products and sums are exact.</summary>
    [Fact]
    public void Multiplies()
    {
        NDArray a = manager.Arange(6f).Reshape(2, 3);
        NDArray b = manager.Arange(12f).Reshape(3, 4);
        float[] expected = (from i in Enumerable.Range(0, 2)
                            from j in Enumerable.Range(0, 4)
                            select (float)Enumerable.Range(0, 3).Sum(k => ((3 * i) + k) * ((4 * k) + j))).ToArray();
        Same(new Shape(2, 4), expected, a.MatMul(b));
        Same(new Shape(4), new float[] { 20, 23, 26, 29 }, manager.Arange(3f).MatMul(b));
        Same(new Shape(2), new float[] { 5, 14 }, a.MatMul(manager.Arange(3f)));
        Same(new Shape(), new float[] { 5 }, manager.Arange(3f).MatMul(manager.Arange(3f)));
        Assert.Equal(new Shape(5, 2, 4), a.MatMul(manager.Ones(new Shape(5, 3, 4))).Shape);
        Assert.Equal(
            new Shape(5, 7, 2, 4), manager.Ones(new Shape(7, 2, 3)).MatMul(manager.Ones(new Shape(5, 1, 3, 4))).Shape);
        Same(new Shape(2, 2), new float[4], manager.Ones(new Shape(2, 0)).MatMul(manager.Ones(new Shape(0, 2))));
        foreach (NDArray wrong in new[]
        {
            manager.Ones(new Shape(2, 3)), manager.Ones(new Shape(4)), manager.Create(1f),
            manager.Ones(new Shape(3, 4), DataType.Float64), manager.Ones(new Shape(3, 4), DataType.Int32),
        })
        {
            Assert.Throws<ArgumentException>(() => a.MatMul(wrong));
        }
        Assert.Contains(
            "(4, 2, 3)",
            Assert.Throws<ArgumentException>(
                () => manager.Ones(new Shape(4, 2, 3)).MatMul(manager.Ones(new Shape(5, 3, 2)))).Message);
    }

    [Fact]
    public void MultipliesBatches()
    {
        NDArray a = manager.Arange(12f).Reshape(2, 2, 3);
        NDArray b = manager.Arange(12f).Reshape(2, 3, 2);
        Same(new Shape(2, 2, 2), new float[] { 10, 13, 28, 40, 172, 193, 244, 274 }, a.BatchDot(b));
        Assert.Throws<ArgumentException>(() => a.BatchDot(manager.Ones(new Shape(3, 2))));
        Assert.Throws<ArgumentException>(() => a.BatchDot(manager.Ones(new Shape(1, 3, 2))));
        Assert.Throws<ArgumentException>(() => a.BatchDot(a));
    }

    [Fact]
    public void Softmaxes()
    {
        double[] x = { 1, 2, 4, -1, 0, 3 };
        NDArray array = manager.Create(x.Select(e => (float)e).ToArray(), new Shape(2, 3));
        foreach (int axis in new[] { 0, 1, -1 })
        {
            float[] result = array.Softmax(axis).ToFloatArray();
            for (int i = 0; i < 6; i++)
            {
                double sum = Enumerable.Range(0, 6).Where(j => axis == 0 ? j % 3 == i % 3 : j / 3 == i / 3)
                    .Sum(j => Math.Exp(x[j]));
                Assert.Equal(Math.Exp(x[i]) / sum, result[i], 1e-6);
            }
        }
        Assert.Throws<ArgumentException>(() => array.Softmax(2));
        Assert.Throws<ArgumentException>(() => manager.Create(1f).Softmax(0));
        Assert.Throws<ArgumentException>(() => manager.Create(1).Softmax(0));
    }

    [Fact]
    public void ComparesByTolerance()
    {
        NDArray a = manager.Create(new[] { 1, 100, float.NaN, float.PositiveInfinity });
        NDArray b = manager.Create(new[] { 1.0, 101, double.NaN, double.PositiveInfinity });
        Assert.False(a.AllClose(b));
        Assert.False(a.AllClose(b, rtol: 0.01));
        Assert.True(a.AllClose(b, rtol: 0.01, equalNan: true));
        Assert.True(a.AllClose(b, rtol: 0, atol: 1, equalNan: true));
        Assert.False(a.AllClose(b, rtol: 0, atol: 0.99, equalNan: true));
        Assert.False(a.AllClose(a.Reshape(2, 2), equalNan: true));
        NDArray infinite = manager.Create(new[] { float.PositiveInfinity });
        Assert.False(infinite.AllClose(manager.Create(new[] { float.NegativeInfinity }), rtol: 1, atol: 1e300));
        Assert.False(infinite.AllClose(manager.Create(new[] { 1f }), rtol: 1, atol: double.PositiveInfinity));

        // Only the last of many elements differs.
        NDArray many = manager.Zeros(new Shape(100, 1000));
        NDArray other = many.Duplicate();
        Assert.True(many.AllClose(other));
        other[99, 999].Set(new[] { 1e-3f });
        Assert.False(many.AllClose(other));
    }

    [Fact]
    public void ComparesContents()
    {
        NDArray longs = manager.Create(new[] { long.MaxValue, 3 });
        Assert.True(longs.ContentEquals(longs.Duplicate()));
        Assert.False(longs.ContentEquals(manager.Create(new[] { long.MaxValue - 1, 3 })));
        Assert.False(longs.ContentEquals(longs.Reshape(2, 1)));
        Assert.False(manager.Create(1).ContentEquals(manager.Create(1f)));
        Assert.True(manager.Create(-0f).ContentEquals(manager.Create(0f)));
        Assert.False(manager.Create(float.NaN).ContentEquals(manager.Create(float.NaN)));
        NDArray turned = manager.Arange(6).Reshape(2, 3).Transpose();
        Assert.True(turned.ContentEquals(turned.Duplicate()));
        Assert.True(manager.Zeros(new Shape(0)).ContentEquals(manager.Zeros(new Shape(0))));
        Assert.False(longs.Equals(longs.Duplicate()));
    }

    [Fact]
    public void Converts()
    {
        NDArray floats = manager.Create(new[] { 1.7f, -3e9f, float.NaN, 0 });
        Assert.Equal(new[] { 1, int.MinValue, 0, 0 }, floats.ToType(DataType.Int32).ToIntArray());
        Assert.Equal(new[] { true, true, true, false }, floats.ToType(DataType.Boolean).ToBooleanArray());
        Assert.Same(floats, floats.ToType(DataType.Float32));
        NDArray copy = floats.ToType(DataType.Float32, copy: true);
        Assert.NotSame(floats, copy);
        copy.Set(new float[4]);
        Assert.Equal(1.7f, floats.GetFloat(0));
        Assert.Throws<ArgumentException>(() => floats.ToType((DataType)99));
        Assert.Throws<ArgumentException>(() => floats.ToType((DataType)(-1)));
    }

    [Fact]
    public void ShowsItsElements()
    {
        Device device = TestDevice.Device;
        Assert.Equal(
            $"ND: (2, 3) {device} int32\n[[0, 1, 2],\n [3, 4, 5]]\n", manager.Arange(6).Reshape(2, 3).ToDebugString());
        Assert.Equal($"ND: () {device} float64\n0.1\n", manager.Create(0.1).ToDebugString());
        Assert.Equal(
            $"ND: (2) {device} float32\n[0.1, NaN]\n", manager.Create(new[] { 0.1f, float.NaN }).ToDebugString());
        Assert.Equal(
            $"ND: (1) {device} bfloat16\n[1]\n", manager.Ones(new Shape(1), DataType.BFloat16).ToDebugString());
        Assert.Equal(
            $"ND: (2) {device} boolean\n[true, false]\n", manager.Create(new[] { true, false }).ToDebugString());
        Assert.Equal($"ND: (0, 2) {device} float32\n[]\n", manager.Zeros(new Shape(0, 2)).ToDebugString());
        Assert.Equal(
            $"ND: (1001) {device} float32\n[ more than 1000 elements ]\n",
            manager.Zeros(new Shape(1001)).ToDebugString());
    }

    private static void Same(Shape shape, float[] elements, NDArray array)
    {
        Assert.Equal(shape, array.Shape);
        Assert.Equal(elements, array.ToFloatArray());
    }
}
