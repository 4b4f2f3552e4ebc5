// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Norms, feed-forward networks and embeddings.</summary>
public sealed class NetworkPartTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly ParameterStore ps = new ParameterStore();

    public void Dispose() => manager.Dispose();

    [Theory]
    [InlineData(NormKind.Layer, 1e-5f, new[] { -1.0257546f, -0.2263765f, 0.3865008f, 1.8852571f })]
    [InlineData(NormKind.Rms, 1e-6f, new[] { 0.2169305f, 0.2169305f, 1.7354436f, 1.7354436f })]
    public void NormsAreThoseOfTheFormulas(NormKind kind, float epsilon, float[] expected)
    {
        using var norm = new LayerNorm(new LayerNormOptions { Epsilon = epsilon, Kind = kind });
        norm.Parameters["weight"].SetArray(manager.Create(new[] { 1, 0.5f, 2, 1 }));
        if (kind == NormKind.Layer)
        {
            norm.Parameters["bias"].SetArray(manager.Create(new[] { 0, 0.1f, 0.2f, 0.3f }));
        }
        Assert.True(norm.IsInitialized);
        foreach (Shape shape in new[] { new Shape(4), new Shape(1, 4), new Shape(1, 1, 1, 4) })
        {
            NDArray y = norm.Forward(ps, new NDList(manager.Create(new float[] { 1, 2, 4, 8 }, shape)))[0];
            Assert.Equal(shape, y.Shape);
            Near(expected, y.ToFloatArray(), 3e-7f);
        }
    }

    [Fact]
    public void NormsHaveTheParametersOfTheirKind()
    {
        using var usual = new LayerNorm();
        usual.Initialize(manager, DataType.BFloat16, new Shape(2, 3));
        Assert.Equal(new float[] { 1, 1, 1 }, usual.Parameters["weight"].Array.ToFloatArray());
        Assert.Equal(new float[] { 0, 0, 0 }, usual.Parameters["bias"].Array.ToFloatArray());
        Assert.Equal(DataType.BFloat16, usual.Parameters["bias"].Array.DataType);
        Assert.Equal(
            new[] { ParameterType.Gamma, ParameterType.Beta },
            usual.Parameters.Values.Select(parameter => parameter.Type));
        Assert.Equal("LayerNorm(epsilon=0, kind=Layer, center=True)", usual.ToString());
        foreach (var options in new[]
        {
            new LayerNormOptions { Center = false }, new LayerNormOptions { Kind = NormKind.Rms },
        })
        {
            using var norm = new LayerNorm(options);
            Assert.Equal(new[] { "weight" }, norm.Parameters.Keys);
        }
        Refused("Epsilon", () => new LayerNorm(new LayerNormOptions { Epsilon = -1 }));
        Refused("Kind is 2", () => new LayerNorm(new LayerNormOptions { Kind = (NormKind)2 }));
    }

    /// <summary>What an activation makes of 1 and -1.</summary>
    [Theory]
    [InlineData(ActivationKind.Relu, 1, 0)]
    [InlineData(ActivationKind.Gelu, 0.8413447f, -0.1586553f)]
    [InlineData(ActivationKind.GeluTanh, 0.8411920f, -0.1588080f)]
    [InlineData(ActivationKind.GeluQuick, 0.8457958f, -0.1542042f)]
    [InlineData(ActivationKind.Silu, 0.7310586f, -0.2689414f)]
    public void FeedForwardIsThatOfTheFormula(ActivationKind activation, float ofOne, float ofMinusOne)
    {
        using var plain = new FeedForward(new FeedForwardOptions
        {
            HiddenSize = 2, OutputSize = 3, Activation = activation,
        });
        Set(plain, "W_1.weight", new float[] { 1, 0, 0, 1 }, 2, 2);
        Set(plain, "W_1.bias", new float[] { 0, -3 }, 2);
        Set(plain, "W_2.weight", new float[] { 1, 0, 0, 1, 1, -1 }, 3, 2);
        Set(plain, "W_2.bias", new float[] { 0, 0, 10 }, 3);
        NDArray x = manager.Create(new float[] { 1, 2 }, new Shape(1, 1, 2));
        NDArray y = plain.Forward(ps, new NDList(x))[0];
        Assert.Equal(new Shape(1, 1, 3), y.Shape);
        Near(new[] { ofOne, ofMinusOne, ofOne - ofMinusOne + 10 }, y.ToFloatArray(), 2e-6f);

        using var gated = new FeedForward(new FeedForwardOptions
        {
            HiddenSize = 2, Activation = activation, Gated = true, Bias = false,
        });
        Assert.Equal(new[] { "W_1.weight", "W_gate.weight", "W_2.weight" }, gated.Parameters.Keys);
        Set(gated, "W_1.weight", new float[] { 1, 0, 0, 1 }, 2, 2);
        Set(gated, "W_gate.weight", new[] { 1, 0, 0, -0.5f }, 2, 2);
        Set(gated, "W_2.weight", new float[] { 1, 0, 0, 1 }, 2, 2);
        Near(new[] { ofOne, 2 * ofMinusOne }, gated.Forward(ps, new NDList(x))[0].ToFloatArray(), 2e-6f);
    }

    [Fact]
    public void FeedForwardDropsWhatItsSecondProjectionReads()
    {
        using var block = new FeedForward(new FeedForwardOptions { HiddenSize = 64, Dropout = 0.5f });
        NDArray x = manager.RandomNormal(new Shape(3, 8));
        block.Initialize(manager, DataType.Float32, x.Shape);
        float[] Output(bool training) => block.Forward(ps, new NDList(x), training)[0].ToFloatArray();
        Assert.Equal(Output(false), Output(false));
        Assert.NotEqual(Output(true), Output(true));
        Assert.Equal(new[] { x.Shape }, block.GetOutputShapes(new[] { x.Shape }));
        Assert.Equal(
            "FeedForward(hiddenSize=64, outputSize=0, activation=Relu, gated=False, bias=True, dropout=0.5)",
            block.ToString());
    }

    [Fact]
    public void FeedForwardRefusesWrongOptions()
    {
        Refused("HiddenSize is 0", () => new FeedForward(new FeedForwardOptions()));
        Refused("OutputSize is -1", () => new FeedForward(new FeedForwardOptions { HiddenSize = 1, OutputSize = -1 }));
        Refused(
            "Activation is 5",
            () => new FeedForward(new FeedForwardOptions { HiddenSize = 1, Activation = (ActivationKind)5 }));
        Refused("Dropout is 1", () => new FeedForward(new FeedForwardOptions { HiddenSize = 1, Dropout = 1 }));
        using var block = new FeedForward(new FeedForwardOptions { HiddenSize = 3 });
        block.Initialize(manager, DataType.Float32, new Shape(2, 4));
        Refused("(2, 5)", () => block.Forward(ps, new NDList(manager.Ones(new Shape(2, 5)))));
    }

    [Fact]
    public void EmbeddingsAreRowsOfTheTable()
    {
        using var embedding = new Embedding(new EmbeddingOptions
        {
            NumEmbeddings = 4, EmbeddingSize = 2, Scale = 3,
        });
        Set(embedding, "weight", Enumerable.Range(0, 8).Select(number => (float)number).ToArray(), 4, 2);
        foreach (NDArray ids in new[]
        {
            manager.Create(new[] { 3, 0, 3 }, new Shape(1, 3)), manager.Create(new long[] { 3, 0, 3 }, new Shape(1, 3)),
        })
        {
            NDArray rows = embedding.Forward(ps, new NDList(ids))[0];
            Assert.Equal(new Shape(1, 3, 2), rows.Shape);
            Assert.Equal(new float[] { 18, 21, 0, 3, 18, 21 }, rows.ToFloatArray());
        }
        Assert.Equal(new[] { new Shape(5, 7, 2) }, embedding.GetOutputShapes(new[] { new Shape(5, 7) }));
        Assert.Equal(
            new[] { new Shape(5, 2) }, embedding.GetOutputShapes(new[] { new Shape(5) }, new[] { DataType.Int32 }));
        Refused("[1] is 4, expected 0 to 3", () => embedding.Forward(ps, new NDList(manager.Create(new[] { 0, 4 }))));
        Refused("[0] is -1, expected 0 to 3", () => embedding.Forward(ps, new NDList(manager.Create(new[] { -1, 0 }))));
        NDArray numbers = manager.Ones(new Shape(2));
        Refused("is Float32, expected Int32 or Int64", () => embedding.Forward(ps, new NDList(numbers)));
    }

    /// <summary>The ids do not tell the type of the table: Initialize does.</summary>
    [Fact]
    public void EmbeddingsHaveTheTypeOfInitialize()
    {
        var options = new EmbeddingOptions { NumEmbeddings = 5, EmbeddingSize = 3, PaddingIndex = 2 };
        var tables = new List<float[]>();
        foreach (DataType type in new[] { DataType.Float32, DataType.Float16, DataType.BFloat16 })
        {
            using var embedding = new Embedding(options);
            embedding.SetSeed(7);
            embedding.Initialize(manager, type, new Shape(2, 2));
            NDArray table = embedding.Parameters["weight"].Array;
            Assert.Equal(type, table.DataType);
            Assert.Equal(new float[3], table[2].ToFloatArray());
            NDArray rows = embedding.Forward(ps, new NDList(manager.Create(new[] { 4, 2 })))[0];
            Assert.Equal(type, rows.DataType);
            Assert.Equal(table[4].ToFloatArray().Concat(new float[3]), rows.ToFloatArray());
            embedding.Initialize(manager, type, new Shape(7)); // They fit.
            tables.Add(table.ToFloatArray());
        }
        Near(tables[0], tables[1], 0.01f);
        Near(tables[0], tables[2], 0.05f);
        Assert.Equal(-1, new EmbeddingOptions().PaddingIndex);
        using var another = new Embedding(options);
        Refused("dataType is Int32", () => another.Initialize(manager, DataType.Int32, new Shape(2)));
        Assert.Equal("Embedding(numEmbeddings=5, embeddingSize=3, paddingIndex=2, scale=0)", another.ToString());
    }

    [Fact]
    public void EmbeddingsRefuseWrongOptions()
    {
        Refused("NumEmbeddings is 0", () => new Embedding(new EmbeddingOptions { EmbeddingSize = 1 }));
        Refused("EmbeddingSize is 0", () => new Embedding(new EmbeddingOptions { NumEmbeddings = 1 }));
        Refused("PaddingIndex is 3", () => new Embedding(new EmbeddingOptions
        {
            NumEmbeddings = 3, EmbeddingSize = 1, PaddingIndex = 3,
        }));
        Refused("Scale is NaN", () => new Embedding(new EmbeddingOptions
        {
            NumEmbeddings = 3, EmbeddingSize = 1, Scale = float.NaN,
        }));
    }

    private static void Refused(string part, Action use) =>
        Assert.Contains(part, Assert.Throws<ArgumentException>(use).Message);

    private static void Near(float[] expected, float[] found, float difference)
    {
        Assert.Equal(expected.Length, found.Length);
        Assert.All(found.Zip(expected), pair => Assert.Equal(pair.Second, pair.First, difference));
    }

    private void Set(Block block, string name, float[] values, params long[] dims) =>
        block.Parameters[name].SetArray(manager.Create(values, new Shape(dims)));
}
