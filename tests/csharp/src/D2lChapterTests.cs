// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>What the cells of d2l-java's chapter on attention call, with their types and shapes, in programs of our
/// own.</summary>
public sealed class D2lChapterTests : IDisposable
{
    private const int NumPoints = 50;

    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    // ---- attention cues ----

    [Fact]
    public void HeatMapsReadOneRowAfterAnother()
    {
        NDArray map = manager.Eye(10).Reshape(new Shape(1, 1, 10, 10))[0][0];
        int i = 0;
        foreach (NDArray row in map)
        {
            Assert.Equal(Enumerable.Range(0, 10).Select(j => j == i ? 1f : 0f), row.ToFloatArray());
            i++;
        }
        Assert.Equal(10, i);
    }

    // ---- kernel regression ----

    [Fact]
    public void AFunctionOfArraysIsThatOfTheirElements()
    {
        Func<NDArray, NDArray> function = x => (x.Sin() * 2) + x.Pow(0.8);
        NDArray x = manager.Arange(0f, 5f, 0.1f);
        float[] points = x.ToFloatArray();
        float[] values = function(x).ToFloatArray();
        Assert.Equal(NumPoints, points.Length);
        for (int i = 0; i < NumPoints; i++)
        {
            // The errors of the functions are units in the last place of summands below 4, that of the sum half a unit.
            Assert.Equal((2 * Math.Sin(points[i])) + Math.Pow(points[i], 0.8), values[i], 5 * Ulp(4));
        }

        NDArray noise = manager.RandomNormal(0f, 0.5f, new Shape(NumPoints), DataType.Float32);
        Assert.True((function(x) + noise - function(x)).AllClose(noise, 0, 4 * Ulp(4)));
    }

    [Fact]
    public void TheMeanIsRepeatedForEachPoint()
    {
        NDArray y = manager.RandomNormal(0f, 0.5f, new Shape(NumPoints), DataType.Float32);
        NDArray mean = y.Mean();
        NDArray estimate = mean.Tile(NumPoints);
        Assert.True(mean.Shape.IsScalar);
        Assert.Equal(new Shape(NumPoints), estimate.Shape);
        Assert.All(estimate.ToFloatArray(), number => Assert.Equal(mean.Item<float>(), number));
        Assert.Equal(y.ToFloatArray().Average(number => (double)number), mean.Item<float>(), 1e-6);
    }

    [Fact]
    public void KernelRegressionAveragesTheValuesOfNearPoints()
    {
        NDArray keys = SortedPoints();
        NDArray values = keys.Cos();
        NDArray queries = manager.Arange(0f, 5f, 0.1f);
        NDArray repeated = queries.Repeat(NumPoints).Reshape(new Shape(-1, NumPoints));
        Assert.Equal(queries.GetFloat(3), repeated.GetFloat(3, 49));
        NDArray weights = ((repeated - keys).Pow(2) / 2 * -1).Softmax(-1);
        Assert.Equal(new Shape(1, 1, NumPoints, NumPoints), weights.ExpandDims(0).ExpandDims(0).Shape);
        double[][] expected = Kernel(queries.ToFloatArray(), keys.ToFloatArray(), 1);
        AssertClose(expected[7], weights[7]);
        AssertClose(Average(expected, values.ToFloatArray()), weights.Dot(values));
    }

    [Fact]
    public void BatchesMultiplyOneByOne()
    {
        NDArray product = manager.Ones(new Shape(2, 1, 4)).BatchDot(manager.Ones(new Shape(2, 4, 6)));
        Assert.Equal(new Shape(2, 1, 6), product.Shape);
        NDArray weights = manager.Ones(new Shape(2, 10)) * 0.1;
        NDArray values = manager.Arange(20f).Reshape(new Shape(2, 10));
        NDArray means = weights.ExpandDims(1).BatchDot(values.ExpandDims(-1));
        Assert.Equal(new Shape(2, 1, 1), means.Shape);
        AssertClose(new[] { 4.5, 14.5 }, means);
    }

    [Fact]
    public void ARegressionWithAWidthOfItsOwnAveragesEachRow()
    {
        NDArray points = SortedPoints();
        NDArray values = points.Sin();

        // Each query has the same keys and values, those of a row.
        NDArray keyRows = points.Tile(new long[] { NumPoints, 1 });
        NDArray valueRows = values.Tile(new long[] { NumPoints, 1 });
        Assert.Equal(points.ToFloatArray(), keyRows[31].ToFloatArray());
        using var net = new KernelRegression();
        var inputs = new NDList(points, keyRows, valueRows);
        net.Initialize(manager, DataType.Float32, inputs.GetShapes());
        net.Width.SetArray(manager.Create(new float[] { 3 }));
        NDArray estimate = net.Forward(new ParameterStore(manager, false), inputs, true)[0];
        Assert.Equal(new Shape(NumPoints), estimate.Shape);
        double[][] expected = Kernel(points.ToFloatArray(), points.ToFloatArray(), 3);
        AssertClose(expected[20], net.Weights![20]);
        AssertClose(Average(expected, values.ToFloatArray()), estimate);
    }

    [Fact]
    public void AMaskLeavesOutEachPointItself()
    {
        NDArray points = SortedPoints();
        NDArray isAnother = manager.Eye(NumPoints).Eq(0);
        NDArray rows = points.Tile(new long[] { NumPoints, 1 });
        NDArray others = rows[isAnother].Reshape(new Shape(NumPoints, -1));
        Assert.Equal(new Shape(NumPoints, NumPoints - 1), others.Shape);
        float[] numbers = points.ToFloatArray();
        for (int i = 0; i < NumPoints; i++)
        {
            Assert.Equal(numbers.Where((_, j) => j != i), others[i].ToFloatArray());
        }
    }

    // ---- scoring functions ----

    [Fact]
    public void SequenceMaskHidesWhatMaskedSoftmaxHides()
    {
        NDArray scores = manager.RandomUniform(0, 1, new Shape(2, 2, 4));
        NDArray ofEach = manager.Create(new float[,] { { 1, 3 }, { 2, 4 } });
        foreach (NDArray lengths in new[] { manager.Create(new float[] { 2, 3 }), ofEach })
        {
            NDArray result = SoftmaxOfFirst(scores, lengths);
            NDArray expected = Chap10Utils.MaskedSoftmax(scores, lengths);
            Assert.True(result.AllClose(expected, 0, 2 * Ulp(1)));
            Assert.Equal(expected.Eq(0).ToBooleanArray(), result.Eq(0).ToBooleanArray());
        }
    }

    [Fact]
    public void AdditiveScoresOfArithmeticAreAdditiveAttention()
    {
        NDArray queries = manager.RandomNormal(0, 1, new Shape(2, 1, 20), DataType.Float32);
        NDArray keys = manager.RandomNormal(0, 1, new Shape(2, 10, 2), DataType.Float32);
        NDArray values = manager.Arange(40f).Reshape(1, 10, 4).Repeat(0, 2);
        NDArray lengths = manager.Create(new float[] { 2, 6 });
        using var whole = new AdditiveAttention(8, 0.1f);
        whole.Initialize(manager, DataType.Float32, queries.Shape, keys.Shape, values.Shape);
        NDArray ofQueries = queries.MatMul(Weight(whole, "W_q")).ExpandDims(2);
        NDArray ofKeys = keys.MatMul(Weight(whole, "W_k")).ExpandDims(1);
        NDArray scores = (ofQueries + ofKeys).Tanh().MatMul(Weight(whole, "w_v")).Squeeze(-1);
        NDArray weights = SoftmaxOfFirst(scores, lengths);
        NDArray expected = whole.Forward(queries, keys, values, lengths).Head;
        Assert.True(weights.BatchDot(values).AllClose(expected, 1e-5, 1e-5));
        Assert.Equal(new Shape(1, 1, 2, 10), weights.Reshape(1, 1, 2, 10).Shape);
        Assert.True(weights.AllClose(whole.AttentionWeights!, 1e-5, 1e-6));
    }

    [Fact]
    public void ScaledProductsAreDotProductAttention()
    {
        NDArray queries = manager.RandomNormal(0, 1, new Shape(2, 1, 2), DataType.Float32);
        NDArray keys = manager.RandomNormal(0, 1, new Shape(2, 10, 2), DataType.Float32);
        NDArray values = manager.Arange(40f).Reshape(1, 10, 4).Repeat(0, 2);
        NDArray lengths = manager.Create(new float[] { 2, 6 });
        NDArray scores = queries.BatchDot(keys.SwapAxes(1, 2)) / Math.Sqrt(queries.Shape[2]);
        NDArray weights = SoftmaxOfFirst(scores, lengths);
        using var whole = new DotProductAttention(0.5f);
        NDArray expected = whole.Forward(queries, keys, values, lengths).Head;
        Assert.True(weights.BatchDot(values).AllClose(expected, 1e-5, 1e-5));
        Assert.True(weights.AllClose(whole.AttentionWeights!, 1e-5, 1e-6));
    }

    // ---- multi-head attention ----

    [Fact]
    public void HeadsInTheBatchAreMultiHeadAttention()
    {
        NDArray x = manager.RandomNormal(0, 1, new Shape(2, 4, 100), DataType.Float32);
        NDArray y = manager.RandomNormal(0, 1, new Shape(2, 6, 100), DataType.Float32);
        NDArray lengths = manager.Create(new float[] { 3, 2 });
        using var whole = new MultiHeadAttention(100, 5, 0.5f, false);
        whole.Initialize(manager, DataType.Float32, x.Shape, y.Shape, y.Shape);
        NDArray queries = Heads(x.MatMul(Weight(whole, "W_q")), 5);
        NDArray keys = Heads(y.MatMul(Weight(whole, "W_k")), 5);
        NDArray values = Heads(y.MatMul(Weight(whole, "W_v")), 5);
        Assert.Equal(new Shape(10, 6, 20), keys.Shape);
        NDArray scores = queries.BatchDot(keys.SwapAxes(1, 2)) / Math.Sqrt(20);
        NDArray weights = SoftmaxOfFirst(scores, lengths.Repeat(0, 5));
        NDArray rows = weights.BatchDot(values).Reshape(-1, 5, 4, 20).Transpose(0, 2, 1, 3).Reshape(2, 4, -1);
        NDArray expected = whole.Forward(x, y, y, lengths)[0];
        Assert.True(rows.MatMul(Weight(whole, "W_o")).AllClose(expected, 1e-4, 1e-5));
        Assert.True(weights.AllClose(whole.Attention.AttentionWeights!, 1e-4, 1e-6));
    }

    // ---- positions ----

    [Fact]
    public void SinusoidsWrittenByTheirColumnsAreThePositionalEncoding()
    {
        const int NumHiddens = 32;
        const int MaxLen = 1000;
        NDArray table = manager.Zeros(new Shape(1, MaxLen, NumHiddens));
        NDArray exponents = manager.Arange(0f, NumHiddens, 2f) / NumHiddens;
        NDArray angles = manager.Arange(MaxLen).Reshape(-1, 1) / manager.Create(10000).Pow(exponents);
        Assert.Equal(DataType.Float32, angles.DataType);
        table[NDIndex.Ellipsis, NDIndex.Slice(0, null, 2)] = angles.Sin();
        table[NDIndex.Ellipsis, NDIndex.Slice(1, null, 2)] = angles.Cos();

        using var encoding = new PositionalEncoding(NumHiddens, 0, MaxLen, manager);

        // An angle below 1000 of three roundings in FLOAT32, beside one in double.
        Assert.True(table.AllClose(encoding.P!, 0, 3 * Ulp(1000)));
        NDArray x = manager.RandomNormal(new Shape(1, 60, NumHiddens));
        NDArray shown = table[NDIndex.Slice(), NDIndex.Slice(0, 60)];
        Assert.True((x + shown).AllClose(encoding.Forward(x).Head, 0, 3 * Ulp(60)));

        float[] column = shown[0, NDIndex.Slice(), 6].ToFloatArray();
        double[] rows = manager.Arange(60).ToType(DataType.Float64).ToDoubleArray();
        for (int i = 0; i < 60; i++)
        {
            Assert.Equal(i, rows[i]);
            Assert.Equal(Math.Sin(i / Math.Pow(10000, 6.0 / NumHiddens)), column[i], 3 * Ulp(60));
        }
        Assert.Equal(new Shape(1, 1, 60, NumHiddens), shown[0, NDIndex.Ellipsis].ExpandDims(0).ExpandDims(0).Shape);
    }

    // ---- chapters that d2l-java does not have ----

    [Fact]
    public void AGruCellIsTwoLinearLayersAndArithmetic()
    {
        const int NumHiddens = 3;
        NDArray x = manager.RandomNormal(new Shape(2, 5));
        NDArray state = manager.RandomNormal(new Shape(2, NumHiddens));
        using var ofInput = new Linear(3 * NumHiddens);
        using var ofState = new Linear(3 * NumHiddens);
        ofInput.SetInitializer(new NormalInitializer(0.5f), ParameterType.Bias);
        ofState.SetInitializer(new NormalInitializer(0.5f), ParameterType.Bias);
        ofInput.Initialize(manager, DataType.Float32, x.Shape);
        ofState.Initialize(manager, DataType.Float32, state.Shape);
        NDList a = ofInput.Forward(x).Head.Split(3, -1);
        NDList b = ofState.Forward(state).Head.Split(3, -1);
        NDArray update = (a[1] + b[1]).Sigmoid();
        NDArray candidate = (a[2] + ((a[0] + b[0]).Sigmoid() * b[2])).Tanh();
        float[] next = ((update * state) + ((1 - update) * candidate)).ToFloatArray();
        for (int i = 0; i < 2; i++)
        {
            double[] p = Row(ofInput, x[i].ToFloatArray());
            double[] q = Row(ofState, state[i].ToFloatArray());
            for (int j = 0; j < NumHiddens; j++)
            {
                double r = 1 / (1 + Math.Exp(-p[j] - q[j]));
                double z = 1 / (1 + Math.Exp(-p[NumHiddens + j] - q[NumHiddens + j]));
                double n = Math.Tanh(p[(2 * NumHiddens) + j] + (r * q[(2 * NumHiddens) + j]));
                double expected = ((1 - z) * n) + (z * state.GetFloat(i, j));
                Assert.Equal(expected, next[(NumHiddens * i) + j], 1e-5);
            }
        }
    }

    private static float Ulp(float number) => MathF.BitIncrement(number) - number;

    private static void AssertClose(double[] expected, NDArray actual)
    {
        float[] numbers = actual.ToFloatArray();
        Assert.Equal(expected.Length, numbers.Length);
        for (int i = 0; i < numbers.Length; i++)
        {
            Assert.Equal(expected[i], numbers[i], 1e-5);
        }
    }

    /// <summary>Weights of a Gaussian kernel of some width, by loops in double.</summary>
    private static double[][] Kernel(float[] queries, float[] keys, double width) => queries.Select(query =>
    {
        double[] row = keys.Select(key => Math.Exp(-Math.Pow((query - (double)key) * width, 2) / 2)).ToArray();
        double sum = row.Sum();
        return row.Select(weight => weight / sum).ToArray();
    }).ToArray();

    private static double[] Average(double[][] weights, float[] values) =>
        weights.Select(row => row.Zip(values, (weight, value) => weight * value).Sum()).ToArray();

    /// <summary>A softmax of the first elements of each row: as many as its length says.</summary>
    private static NDArray SoftmaxOfFirst(NDArray scores, NDArray lengths)
    {
        Shape shape = scores.Shape;
        NDArray ofRows = lengths.Shape.Dimension == 1 ? lengths.Repeat(shape[1]) : lengths.Reshape(-1);
        NDArray rows = scores.Reshape(new Shape(-1, shape[shape.Dimension - 1]));
        return rows.SequenceMask(ofRows, -1e6f).Softmax(-1).Reshape(shape);
    }

    private static NDArray Heads(NDArray x, int numHeads)
    {
        NDArray split = x.Reshape(x.Shape[0], x.Shape[1], numHeads, -1).Transpose(0, 2, 1, 3);
        return split.Reshape(-1, split.Shape[2], split.Shape[3]);
    }

    /// <summary>A projection's weight as a matrix that rows are multiplied by.</summary>
    private static NDArray Weight(Block block, string name) => block.Parameters[name + ".weight"].Array.Transpose();

    /// <summary>A linear layer of one row, in double.</summary>
    private static double[] Row(Linear layer, float[] row)
    {
        NDArray weight = layer.Parameters["weight"].Array;
        float[] bias = layer.Parameters["bias"].Array.ToFloatArray();
        return bias.Select((b, i) => b + row.Select((x, j) => x * (double)weight.GetFloat(i, j)).Sum()).ToArray();
    }

    /// <summary>Training points, in order.</summary>
    private NDArray SortedPoints()
    {
        NDArray points = (manager.RandomUniform(0, 1, new Shape(NumPoints)) * 5).Sort();
        float[] numbers = points.ToFloatArray();
        Assert.Equal(numbers.OrderBy(number => number), numbers);
        Assert.InRange(numbers[0], 0, numbers[^1]);
        Assert.True(numbers[^1] < 5);
        return points;
    }

    /// <summary>The kernel's width is a parameter of one element.</summary>
    private sealed class KernelRegression : AbstractBlock
    {
        public KernelRegression()
        {
            Width = AddParameter(
                new Parameter("width", shape: new Shape(1), initializer: new UniformInitializer()));
        }

        public Parameter Width { get; }

        public NDArray? Weights { get; private set; }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray keys = inputs[1];
            NDArray queries = inputs.Head.Repeat(keys.Shape[1]).Reshape(new Shape(-1, keys.Shape[1]));
            Weights = (((queries - keys) * Width.Array).Pow(2) / 2 * -1).Softmax(-1);
            return new NDList(Weights.ExpandDims(1).BatchDot(inputs[2].ExpandDims(-1)).Reshape(-1));
        }
    }
}
