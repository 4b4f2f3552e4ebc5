// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>The programs of d2l-java's chapter on attention, line by line.</summary>
public sealed class D2lProgramTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly ParameterStore ps;

    public D2lProgramTests()
    {
        ps = new ParameterStore(manager, false);
    }

    public void Dispose() => manager.Dispose();

    [Fact]
    public void DefinesMultiHeadAttention()
    {
        using var defined = new DefinedMultiHeadAttention(100, 5, 0.5f, true);
        using var ours = new MultiHeadAttention(100, 5, 0.5f, true);
        NDArray validLens = manager.Create(new float[] { 3, 2 });
        NDArray X = manager.RandomNormal(new Shape(2, 4, 100));
        NDArray Y = manager.RandomNormal(new Shape(2, 6, 100));
        var input = new NDList(X, Y, Y, validLens);
        Assert.False(defined.IsInitialized);
        defined.Initialize(manager, DataType.Float32, input.GetShapes());
        Assert.True(defined.IsInitialized);
        Assert.Equal(input.GetShapes(), defined.InputShapes);

        // d2l-java's names, and heed's.
        Assert.Equal(
            new[]
            {
                "01W_q_weight", "01W_q_bias", "02W_k_weight", "02W_k_bias", "03W_v_weight", "03W_v_bias",
                "04W_o_weight", "04W_o_bias",
            },
            defined.Parameters.Keys);
        Assert.Equal(new[] { "01W_q", "02W_k", "03W_v", "04W_o", "05dropout" }, defined.Children.Keys);
        Assert.Equal(
            new[]
            {
                "W_q.weight", "W_q.bias", "W_k.weight", "W_k.bias", "W_v.weight", "W_v.bias", "W_o.weight", "W_o.bias",
            },
            ours.Parameters.Keys.OrderBy(name => "qkvo".IndexOf(name[2])));
        foreach (Pair<string, Parameter> parameter in defined.Parameters)
        {
            if (parameter.Value.Type == ParameterType.Bias)
            {
                parameter.Value.SetArray(manager.RandomNormal(parameter.Value.Shape!));
            }
            string name = parameter.Key.Substring(2).Replace("_weight", ".weight").Replace("_bias", ".bias");
            ours.Parameters[name].SetArray(parameter.Value.Array);
        }
        Assert.True(ours.IsInitialized);

        NDArray result = defined.Forward(ps, input, false).SingletonOrThrow();
        NDArray expected = ours.Forward(ps, input).SingletonOrThrow();
        Assert.Equal("(2, 4, 100)", result.Shape.ToString());
        AssertSame(expected, result);
        AssertSame(ours.Attention.AttentionWeights!, defined.Attention.AttentionWeights!);

        // Training drops weights and inference does not; the same seed drops the same ones.
        defined.Attention.SetSeed(7);
        float[] trained = defined.Forward(ps, input, true).Head.ToFloatArray();
        Assert.NotEqual(result.ToFloatArray(), trained);
        defined.Attention.SetSeed(7);
        Assert.Equal(trained, defined.Forward(ps, input, true).Head.ToFloatArray());
    }

    [Fact]
    public void MasksTheSoftmax()
    {
        NDArray uniform = manager.RandomUniform(0, 1, new Shape(2, 2, 4));
        AssertRows(
            uniform, Chap10Utils.MaskedSoftmax(uniform, manager.Create(new float[] { 2, 3 })), new[] { 2, 2, 3, 3 });
        NDArray each = manager.Create(new float[] { 1, 3, 2, 4 }, new Shape(2, 2));
        AssertRows(uniform, Chap10Utils.MaskedSoftmax(uniform, each), new[] { 1, 3, 2, 4 });
        AssertRows(uniform, Chap10Utils.MaskedSoftmax(uniform, null), new[] { 4, 4, 4, 4 });

        // In heed a row without visible keys has weights of 0; d2l gives 1/K.
        NDArray none = manager.Create(new[] { 0, 4 });
        Assert.Equal(new float[8], Chap10Utils.MaskedSoftmax(uniform, none).ToFloatArray().Take(8));

        // All heads have the same lengths: (2, 1, 2, 4) gives the same numbers.
        NDArray heads = Chap10Utils.MaskedSoftmax(uniform.Reshape(2, 1, 2, 4), each);
        Assert.Equal(new Shape(2, 1, 2, 4), heads.Shape);
        AssertRows(uniform, heads.Reshape(2, 2, 4), new[] { 1, 3, 2, 4 });
        Assert.Contains("5", Assert.Throws<ArgumentException>(
            () => Chap10Utils.MaskedSoftmax(uniform, manager.Create(new[] { 5, 1 }))).Message);
    }

    [Fact]
    public void AttendsAdditively()
    {
        NDArray queries = manager.RandomNormal(0, 1, new Shape(2, 1, 20), DataType.Float32);
        NDArray keys = manager.Ones(new Shape(2, 10, 2));
        NDArray values = manager.Arange(40f).Reshape(1, 10, 4).Repeat(0, 2);
        NDArray validLens = manager.Create(new float[] { 2, 6 });
        AdditiveAttention attention = new AdditiveAttention(8, 0.1f);
        NDList input = new NDList(queries, keys, values, validLens);
        attention.Initialize(manager, DataType.Float32, input.GetShapes());
        NDArray output = attention.Forward(ps, input, false).Head;
        CheckMeansOfAlikeKeys(output, attention.AttentionWeights!.Reshape(1, 1, 2, 10));
        Assert.Equal(
            new[] { new Shape(8, 20), new Shape(8, 2), new Shape(1, 8) },
            attention.Parameters.Values.Select(parameter => parameter.Shape));
    }

    [Fact]
    public void AttendsByProducts()
    {
        NDArray keys = manager.Ones(new Shape(2, 10, 2));
        NDArray values = manager.Arange(40f).Reshape(1, 10, 4).Repeat(0, 2);
        NDArray validLens = manager.Create(new float[] { 2, 6 });
        NDArray queries = manager.RandomNormal(0, 1, new Shape(2, 1, 2), DataType.Float32);
        DotProductAttention attention = new DotProductAttention(0.5f);
        NDList input = new NDList(queries, keys, values, validLens);
        attention.Initialize(manager, DataType.Float32, input.GetShapes());
        NDArray output = attention.Forward(ps, input, false).Head;
        CheckMeansOfAlikeKeys(output, attention.AttentionWeights!.Reshape(1, 1, 2, 10));
    }

    [Fact]
    public void SplitsAndJoinsHeads()
    {
        NDArray x = manager.Arange(2 * 3 * 8).Reshape(2, 3, 8);
        NDArray heads = Chap10Utils.TransposeQkv(x, 4);
        Assert.Equal(new Shape(8, 3, 2), heads.Shape);

        // Head 1 of batch element 0 has elements 2 and 3 of each of its rows.
        Assert.Equal(new[] { 2, 3, 10, 11, 18, 19 }, heads[1].ToIntArray());
        NDArray joined = Chap10Utils.TransposeOutput(heads, 4);
        Assert.Equal(x.Shape, joined.Shape);
        Assert.Equal(x.ToIntArray(), joined.ToIntArray());
        NDArray empty = manager.Zeros(new Shape(0, 3, 8));
        Assert.Equal(empty.Shape, Chap10Utils.TransposeOutput(Chap10Utils.TransposeQkv(empty, 4), 4).Shape);

        Assert.Throws<ArgumentNullException>("x", () => Chap10Utils.TransposeQkv(null!, 4));
        Assert.Throws<ArgumentNullException>("x", () => Chap10Utils.TransposeOutput(null!, 4));
        Assert.Throws<ArgumentNullException>("scores", () => Chap10Utils.MaskedSoftmax(null!, null));
        Assert.Throws<ArgumentOutOfRangeException>("numHeads", () => Chap10Utils.TransposeQkv(x, 0));
        Assert.Throws<ArgumentException>("x", () => Chap10Utils.TransposeQkv(x, 3));
        Assert.Throws<ArgumentException>("x", () => Chap10Utils.TransposeOutput(heads, 3));
        Assert.Throws<ArgumentException>("x", () => Chap10Utils.TransposeQkv(x.Flatten(), 4));
    }

    /// <summary>All keys are equal, so the results are the means of the first 2 and the first 6 values.</summary>
    private static void CheckMeansOfAlikeKeys(NDArray output, NDArray weights)
    {
        Assert.Equal(new Shape(2, 1, 4), output.Shape);
        float[] expected = { 2, 3, 4, 5, 10, 11, 12, 13 };
        float[] found = output.ToFloatArray();
        float[] kept = weights.ToFloatArray();
        for (int i = 0; i < 8; i++)
        {
            Assert.Equal(expected[i], found[i], 16 * (MathF.BitIncrement(16) - 16));
        }
        for (int i = 0; i < 20; i++)
        {
            int visible = i < 10 ? 2 : 6;
            float weight = i % 10 < visible ? 1f / visible : 0;
            Assert.Equal(weight, kept[i], 2 * (MathF.BitIncrement(weight) - weight));
        }
    }

    private static void AssertRows(NDArray scores, NDArray weights, int[] visible)
    {
        Assert.Equal(scores.Shape, weights.Shape);
        float[] given = scores.ToFloatArray();
        float[] found = weights.ToFloatArray();
        for (int row = 0; row < 4; row++)
        {
            double[] exponentials = Enumerable.Range(0, 4)
                .Select(key => key < visible[row] ? Math.Exp(given[(4 * row) + key]) : 0).ToArray();
            for (int key = 0; key < 4; key++)
            {
                double expected = exponentials[key] / exponentials.Sum();

                // The errors of the exponential, of a sum of four terms and of the quotient: a few roundings each.
                Assert.Equal(expected, found[(4 * row) + key], 1e-6 * expected);
            }
        }
    }

    /// <summary>Bit by bit: the same operations in the same order.</summary>
    private static void AssertSame(NDArray expected, NDArray found)
    {
        Assert.Equal(expected.Shape, found.Shape);
        Assert.Equal(expected.ToFloatArray(), found.ToFloatArray());
    }

    /// <summary>The class that the book defines.</summary>
    private sealed class DefinedMultiHeadAttention : AbstractBlock
    {
        private readonly int numHeads;
        private readonly Linear wQ;
        private readonly Linear wK;
        private readonly Linear wV;
        private readonly Linear wO;

        public DefinedMultiHeadAttention(int numHiddens, int numHeads, float dropout, bool useBias)
        {
            this.numHeads = numHeads;
            Attention = new DotProductAttention(dropout);
            wQ = AddChildBlock("W_q", new Linear(numHiddens, useBias));
            wK = AddChildBlock("W_k", new Linear(numHiddens, useBias));
            wV = AddChildBlock("W_v", new Linear(numHiddens, useBias));
            wO = AddChildBlock("W_o", new Linear(numHiddens, useBias));
            AddChildBlock("dropout", new Dropout(dropout));
        }

        public DotProductAttention Attention { get; }

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray queries = Project(wQ, inputs[0]);
            NDArray keys = Project(wK, inputs[1]);
            NDArray values = Project(wV, inputs[2]);
            NDArray? validLens = inputs[3]?.Repeat(0, numHeads);
            NDArray output = Attention.Forward(
                ps, new NDList(queries, keys, values, validLens), training, parameters)[0];
            NDArray concatenated = Chap10Utils.TransposeOutput(output, numHeads);
            return new NDList(wO.Forward(ps, new NDList(concatenated), training, parameters)[0]);

            NDArray Project(Linear linear, NDArray x)
            {
                NDArray projected = linear.Forward(ps, new NDList(x), training, parameters).Head;
                Shape shape = projected.Shape;
                return projected.Reshape(shape[0], shape[1], numHeads, -1).Transpose(0, 2, 1, 3)
                    .Reshape(-1, shape[1], shape[2] / numHeads);
            }
        }

        protected override void InitializeChildBlocks(
            NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            using NDManager sub = manager.NewSubManager();
            NDArray queries = sub.Zeros(inputShapes[0]!, dataType);
            NDArray keys = sub.Zeros(inputShapes[1]!, dataType);
            NDArray values = sub.Zeros(inputShapes[2]!, dataType);
            wQ.Initialize(manager, dataType, queries.Shape);
            wK.Initialize(manager, dataType, keys.Shape);
            wV.Initialize(manager, dataType, values.Shape);
            wO.Initialize(manager, dataType, new NDList(queries).GetShapes());
        }
    }
}
