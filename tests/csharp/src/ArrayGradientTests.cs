// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>The gradient of each operation on arrays, against central differences in Float64.</summary>
[Trait(TestDevice.Trait, "cpu")]
public sealed class ArrayGradientTests : IDisposable
{
    private const double Step = 1e-5;

    /// <summary>What is computed from one array (2, 3) of numbers that are neither 0 nor equal.</summary>
    private static readonly Dictionary<string, Func<NDArray, NDManager, NDArray>> OfOne = new()
    {
        ["add"] = (a, m) => a + Other(m),
        ["add row"] = (a, m) => a[0] + Other(m),
        ["add column"] = (a, m) => a[NDIndex.Slice(), NDIndex.Slice(0, 1)] + Other(m),
        ["add number"] = (a, m) => a + 3,
        ["number add"] = (a, m) => 3 + a,
        ["add itself"] = (a, m) => a + a,
        ["subtract"] = (a, m) => Other(m) - a,
        ["subtract number"] = (a, m) => a - 3,
        ["number subtract"] = (a, m) => 3 - a,
        ["multiply"] = (a, m) => a * Other(m),
        ["multiply itself"] = (a, m) => a * a,
        ["multiply row"] = (a, m) => Other(m) * a[1],
        ["multiply number"] = (a, m) => a * 1.5,
        ["divide"] = (a, m) => a / Other(m),
        ["divisor"] = (a, m) => Other(m) / a,
        ["divide number"] = (a, m) => a / 1.5,
        ["number divide"] = (a, m) => 1.5 / a,
        ["pow"] = (a, m) => a.Abs().Pow(Other(m)),
        ["exponent"] = (a, m) => Other(m).Abs().Pow(a),
        ["pow number"] = (a, m) => a.Pow(3),
        ["pow 0"] = (a, m) => a.Pow(0),
        ["pow 1"] = (a, m) => a.Pow(1),
        ["maximum"] = (a, m) => a.Maximum(Other(m)),
        ["maximum second"] = (a, m) => Other(m).Maximum(a),
        ["maximum number"] = (a, m) => a.Maximum(0.1),
        ["minimum"] = (a, m) => a.Minimum(Other(m)),
        ["minimum second"] = (a, m) => Other(m).Minimum(a),
        ["minimum number"] = (a, m) => a.Minimum(0.1),
        ["negate"] = (a, m) => -a,
        ["abs"] = (a, m) => a.Abs(),
        ["square"] = (a, m) => a.Square(),
        ["sqrt"] = (a, m) => a.Abs().Sqrt(),
        ["exp"] = (a, m) => a.Exp(),
        ["log"] = (a, m) => a.Abs().Log(),
        ["sin"] = (a, m) => a.Sin(),
        ["cos"] = (a, m) => a.Cos(),
        ["tanh"] = (a, m) => a.Tanh(),
        ["sigmoid"] = (a, m) => a.Sigmoid(),
        ["erf"] = (a, m) => a.Erf(),
        ["where"] = (a, m) => a.Where(Truth(m), Other(m)),
        ["where other"] = (a, m) => Other(m).Where(Truth(m), a[0]),
        ["where number"] = (a, m) => a.Where(Truth(m), 2),
        ["where of arrays"] = (a, m) => NDArrays.Where(Truth(m), a, a.Square()),
        ["clip"] = (a, m) => a.Clip(-0.5, 0.5),
        ["sequence mask"] = (a, m) => a.SequenceMask(m.Create(new long[] { 2, 1 }), -1),
        ["sum"] = (a, m) => a.Square().Sum(),
        ["sum of axis"] = (a, m) => a.Square().Sum(new[] { 1 }),
        ["sum with axes kept"] = (a, m) => a.Square().Sum(new[] { 0 }, keepDims: true),
        ["mean"] = (a, m) => a.Square().Mean(),
        ["mean of axis"] = (a, m) => a.Square().Mean(new[] { -1 }),
        ["norm"] = (a, m) => a.Norm(),
        ["norm of axis"] = (a, m) => a.Norm(new[] { 1 }, keepDims: true),
        ["norm of order 1"] = (a, m) => a.Norm(1, new[] { 0 }),
        ["norm of order 2"] = (a, m) => a.Norm(2, new[] { 0 }),
        ["normalize"] = (a, m) => a.Normalize(),
        ["normalize with exponent 1"] = (a, m) => a.Normalize(1, 0),
        ["softmax"] = (a, m) => a.Softmax(1),
        ["softmax of axis 0"] = (a, m) => a.Softmax(0),
        ["log softmax"] = (a, m) => a.LogSoftmax(-1),
        ["relu"] = (a, m) => Activation.Relu(a),
        ["gelu"] = (a, m) => Activation.Gelu(a),
        ["gelu tanh"] = (a, m) => Activation.GeluTanh(a),
        ["gelu quick"] = (a, m) => Activation.GeluQuick(a),
        ["silu"] = (a, m) => Activation.Silu(a),
        ["swish"] = (a, m) => Activation.Swish(a, 1),
        ["matrix product"] = (a, m) => a.MatMul(Matrix(m)),
        ["matrix product of second"] = (a, m) => Matrix(m).Transpose().MatMul(a.Transpose()),
        ["matrix product with itself"] = (a, m) => a.MatMul(a.Transpose()),
        ["matrix product with batches"] = (a, m) => Cube(m).MatMul(a.Transpose()),
        ["matrix product of batches"] = (a, m) => a.Reshape(2, 1, 3).MatMul(Matrix(m)),
        ["matrix product with repeated batches"] = (a, m) => a.Reshape(1, 2, 3).MatMul(Cube(m).SwapAxes(1, 2)),
        ["product of matrix and vector"] = (a, m) => a.MatMul(Other(m)[0]),
        ["product of vector and matrix"] = (a, m) => Other(m)[0].MatMul(a.Transpose()),
        ["product of vector of matrix"] = (a, m) => a[1].MatMul(Matrix(m)),
        ["product of batches and vector"] = (a, m) => Cube(m).MatMul(a[0]),
        ["product of vector and batches"] = (a, m) => a[0].MatMul(Cube(m).SwapAxes(1, 2)),
        ["product of vectors"] = (a, m) => a[0].MatMul(a[1]),
        ["batch dot"] = (a, m) => Cube(m).BatchDot(a.Reshape(2, 3, 1)),
        ["dot"] = (a, m) => a.Dot(Cube(m).SwapAxes(1, 2)),
        ["dot of second"] = (a, m) => Matrix(m).Transpose().Dot(a.Transpose().Reshape(1, 3, 2)),
        ["dot of scalar"] = (a, m) => a.Dot(a[0, 0]),
        ["reshape"] = (a, m) => a.Reshape(3, -1) * Matrix(m)[NDIndex.Slice(), NDIndex.Slice(0, 2)],
        ["reshape of other order"] = (a, m) => a.Transpose().Reshape(new Shape(6)) * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["flatten"] = (a, m) => a.Flatten().Square(),
        ["transpose"] = (a, m) => a.Transpose() * Matrix(m)[NDIndex.Slice(), NDIndex.Slice(0, 2)],
        ["transpose of axes"] = (a, m) => a.Reshape(1, 2, 3).Transpose(1, -1, 0) * Other(m).Reshape(2, 3, 1),
        ["swap axes"] = (a, m) => a.SwapAxes(0, 1).Square(),
        ["expand dims"] = (a, m) => a.ExpandDims(1).Square(),
        ["squeeze"] = (a, m) => a.Reshape(2, 1, 3).Squeeze().Square(),
        ["squeeze axis"] = (a, m) => a.Reshape(2, 1, 3).Squeeze(1).Square(),
        ["slice"] = (a, m) => a.Slice(1, 1, 2).Square(),
        ["index"] = (a, m) => a[1].Square(),
        ["indices"] = (a, m) => a[-1, 2].Square(),
        ["ranges"] = (a, m) => a[NDIndex.Slice(), NDIndex.Slice(2, null, -2)].Square(),
        ["new axis"] = (a, m) => a[NDIndex.NewAxis, NDIndex.Ellipsis, 1].Square(),
        ["array of indices"] = (a, m) => a[NDIndex.Slice(), m.Create(new long[] { 2, 0, 2, -1 })].Square(),
        ["array of indices apart"] =
            (a, m) => a.Reshape(1, 2, 3)[0, NDIndex.Slice(), m.Create(new long[] { 2, 0, 2, -1 })].Square(),
        ["mask"] = (a, m) => a[Truth(m)].Square(),
        ["mask of rows"] = (a, m) => a[m.Create(new[] { false, true })].Square(),
        ["boolean mask"] = (a, m) => a.BooleanMask(m.Create(new[] { true, false, true }), 1).Square(),
        ["rows"] = (a, m) => WeightedRows(a),
        ["flip"] = (a, m) => a.Flip(1) * Other(m),
        ["flip of all"] = (a, m) => a.Flip() * Other(m),
        ["broadcast"] = (a, m) => a.Reshape(2, 1, 3).Broadcast(4, 2, 2, 3).Square(),
        ["repeat"] = (a, m) => a.Repeat(2).Square() * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["repeat axis"] = (a, m) => a.Repeat(1, 2).Square() * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["repeat to"] = (a, m) => a.Repeat(new Shape(6)).Square() * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["repeat with axes"] = (a, m) => a.Repeat(new long[] { 2, 1, 2 }).Square() * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["repeat 0 times"] = (a, m) => a.Repeat(0),
        ["tile"] = (a, m) => a.Tile(2).Square() * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["tile axis"] = (a, m) => a.Tile(1, 2).Square() * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["tile with axes"] = (a, m) => a.Tile(new long[] { 2, 1, 2 }).Square() * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["tile to"] = (a, m) => a.Tile(new Shape(2, 6)).Square() * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["concat"] = (a, m) => a.Concat(a.Square(), 1) * m.Arange(0f, 6f, dataType: DataType.Float64),
        ["concat of three"] = (a, m) => NDArrays.Concat(new NDList(a, Other(m), a.Square())) * Matrix(m)[0, NDIndex.Slice(0, 3)],
        ["stack"] = (a, m) => a.Stack(a.Square(), -1) * m.Arange(0f, 2f, dataType: DataType.Float64),
        ["split"] = (a, m) => a.Split(3, 1)[1].Square(),
        ["split at indices"] = (a, m) => a.Split(new long[] { 1 }, 1)[1].Square(),
        ["to type"] = (a, m) => a.ToType(DataType.Float32).ToType(DataType.Float64) * Other(m),
        ["duplicate"] = (a, m) => a.Duplicate() * Other(m),
        ["to device"] = (a, m) => a.ToDevice(Device.Cpu(), copy: true) * Other(m),
        ["pick"] = (a, m) => a.Pick(m.Create(new long[] { 2, -3 })).Square(),
        ["pick of axis 0"] = (a, m) => a.Pick(m.Create(new[] { 1, 0, 1 }), 0).Square(),
        ["gather"] = (a, m) => a.Gather(m.Create(new long[] { 2, 2, -3, 1 }, new Shape(2, 2)), 1).Square(),
        ["gather of repeated indices"] = (a, m) => a.Gather(m.Create(new long[] { 1, 1, 0 }, new Shape(3, 1)), 0).Square(),
        ["take"] = (a, m) => a.Take(m.Create(new[] { 2, 0, 2, -1 }, new Shape(2, 2)), 1).Square(),
        ["take of all"] = (a, m) => a.Take(m.Create(new long[] { 5, 0, -1 })).Square(),
        ["stop gradient"] = (a, m) => a * a.StopGradient().StopGradient() * 0 + a,
        ["several uses"] = (a, m) => a.Exp() * a + a.Sum() / (a.Square() + 1),
    };

    private readonly NDManager manager = NDManager.NewBaseManager();

    public static TheoryData<string> Operations => new(OfOne.Keys);

    public void Dispose() => manager.Dispose();

    [Theory]
    [MemberData(nameof(Operations))]
    public void GradientsAreThoseOfCentralDifferences(string operation)
    {
        Func<NDArray, NDManager, NDArray> compute = OfOne[operation];
        double[] elements = { 0.7, -1.3, 0.4, -0.2, 1.1, -0.6 };
        using NDArray a = manager.Create(elements, new Shape(2, 3));
        a.RequiresGradient = true;
        using (GradientTape tape = manager.NewGradientTape())
        {
            NDArray result = compute(a, manager);
            using NDArray weights = WeightsOf(result);
            tape.Backward((result * weights).Sum());
        }
        double[] found = a.Gradient.ToDoubleArray();
        // Float32 between has its own rounding.
        double step = operation == "to type" ? 1e-2 : Step;
        for (int i = 0; i < elements.Length; i++)
        {
            double expected = (Loss(compute, elements, i, step) - Loss(compute, elements, i, -step)) / (2 * step);
            Assert.True(
                Math.Abs(found[i] - expected) <= 2e-5 * Math.Max(1, Math.Abs(expected)),
                $"{operation}: element {i} is {found[i]}, expected {expected}");
        }
    }

    private static double Loss(Func<NDArray, NDManager, NDArray> compute, double[] elements, int changed, double by)
    {
        using NDManager inner = NDManager.NewBaseManager();
        var moved = (double[])elements.Clone();
        moved[changed] += by;
        NDArray result = compute(inner.Create(moved, new Shape(2, 3)), inner);
        return (result * WeightsOf(result)).Sum().Item<double>();
    }

    /// <summary>Other weights for each element, so that mistaken places are found.</summary>
    private static NDArray WeightsOf(NDArray result) => result.Manager
        .Create(Enumerable.Range(0, (int)result.Size).Select(i => 1 + Math.Sin(3 * i)).ToArray(), result.Shape);

    private static NDArray Other(NDManager manager) =>
        manager.Create(new[] { 0.3, 1.9, -0.8, 0.9, -1.4, 0.5 }, new Shape(2, 3));

    private static NDArray Matrix(NDManager manager) =>
        manager.Create(Enumerable.Range(0, 12).Select(i => Math.Cos(i)).ToArray(), new Shape(3, 4));

    private static NDArray Cube(NDManager manager) =>
        manager.Create(Enumerable.Range(0, 12).Select(i => Math.Cos(2 * i)).ToArray(), new Shape(2, 2, 3));

    private static NDArray WeightedRows(NDArray array)
    {
        NDArray sum = array[0];
        foreach (NDArray row in array)
        {
            sum = (sum * 2) + row.Square();
        }
        return sum;
    }

    private static NDArray Truth(NDManager manager) =>
        manager.Create(new[] { true, false, true, true, false, false }, new Shape(2, 3));
}
