// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Activations of arrays and their blocks, by numbers that were computed in double.</summary>
public sealed class ActivationTests : IDisposable
{
    private static readonly (ActivationKind Kind, Func<NDArray, NDArray> Function, Func<Block> Block, float[] Expected)[]
        All =
    {
        (ActivationKind.Relu, Activation.Relu, Activation.ReluBlock, new[] { 1f, 0, 0 }),
        (ActivationKind.Gelu, Activation.Gelu, Activation.GeluBlock, new[] { .8413447f, -.1586553f, -.0040495f }),
        (ActivationKind.GeluTanh, Activation.GeluTanh, Activation.GeluTanhBlock,
            new[] { .8411920f, -.1588080f, -.0036374f }),
        (ActivationKind.GeluQuick, Activation.GeluQuick, Activation.GeluQuickBlock,
            new[] { .8457958f, -.1542042f, -.0180713f }),
        (ActivationKind.Silu, Activation.Silu, Activation.SiluBlock, new[] { .7310586f, -.2689414f, -.1422776f }),
    };

    private readonly TransformerScene scene = new TransformerScene();
    private readonly NDArray x;

    public ActivationTests() => x = scene.Manager.Create(new[] { 1f, -1, -3 }, new Shape(1, 3));

    public void Dispose() => scene.Dispose();

    [Fact]
    public void FunctionsAndBlocksGiveTheFormulas()
    {
        foreach ((ActivationKind kind, Func<NDArray, NDArray> function, Func<Block> newBlock, float[] expected) in All)
        {
            NDArray found = function(x);
            Assert.Equal(x.Shape, found.Shape);
            Assert.Same(scene.Manager, found.Manager);
            Near(expected, found, 1e-6f);
            using Block block = newBlock();
            Assert.Equal(found.ToFloatArray(), scene.Run(block, x).ToFloatArray());
            Assert.Equal($"Activation({kind})", block.ToString());
            Assert.Equal(new[] { x.Shape }, block.GetOutputShapes(new[] { x.Shape }));
            Assert.Throws<ArgumentException>(() => block.GetOutputShapes(new Shape?[] { null }));
        }
        Assert.Equal(new[] { 1f, -1, -3 }, x.ToFloatArray());
    }

    [Fact]
    public void SwishHasTheFactorsThatHeedHas()
    {
        float[] silu = Activation.Silu(x).ToFloatArray();
        Assert.Equal(silu, Activation.Swish(x, 1).ToFloatArray());
        Assert.Equal(silu, scene.Run(Activation.SwishBlock(1), x).ToFloatArray());
        Assert.Equal(Activation.GeluQuick(x).ToFloatArray(), Activation.Swish(x, 1.702f).ToFloatArray());
        Says("beta is 2.5, expected 1, or 1.702", () => Activation.Swish(x, 2.5f));
        Says("beta is NaN, expected 1, or 1.702", () => Activation.SwishBlock(float.NaN));
    }

    [Fact]
    public void KeepTypesAndReadViews()
    {
        foreach (DataType type in new[] { DataType.Float16, DataType.BFloat16 })
        {
            NDArray found = Activation.Gelu(x.ToType(type, false));
            Assert.Equal(type, found.DataType);
            Near(All[1].Expected, found.ToType(DataType.Float32, false), 4e-3f);
        }
        NDArray columns = scene.Manager.Create(new[] { 1f, -1, 2, -2 }, new Shape(2, 2)).Transpose();
        Assert.Equal(new[] { 1f, 2, 0, 0 }, Activation.Relu(columns).ToFloatArray());
        Assert.Equal(new Shape(0, 3), Activation.Silu(scene.Manager.Zeros(new Shape(0, 3))).Shape);
    }

    [Fact]
    public void StandBetweenOtherBlocks()
    {
        using var norm = new LayerNorm();
        using var linear = new Linear(4);
        using SequentialBlock block = new SequentialBlock().AddAll(norm, linear, Activation.GeluBlock());
        block.Initialize(scene.Manager, DataType.Float32, x.Shape);
        NDArray found = scene.Run(block, x);
        Assert.Equal(new Shape(1, 4), found.Shape);
        NDArray expected = Activation.Gelu(scene.Run(linear, scene.Run(norm, x)));
        Assert.Equal(expected.ToFloatArray(), found.ToFloatArray());
        Assert.Equal("03ActivationBlock", block.Children.Keys[2]);
        Assert.Equal(new[] { found.Shape }, block.GetOutputShapes(new[] { x.Shape }));
        Assert.True(block.IsInitialized);
    }

    [Fact]
    public void OtherArraysAreRefused()
    {
        Says(
            "the array is Int32, expected Float32, Float16 or BFloat16: copy it into an array of one of these first",
            () => Activation.Relu(scene.Manager.Zeros(new Shape(3), DataType.Int32)));
        Says(
            "the array has shape () of rank 0, expected rank 1 to 8",
            () => Activation.Relu(scene.Manager.Zeros(new Shape())));
        Assert.Equal("array", Assert.Throws<ArgumentNullException>(() => Activation.Gelu(null!)).ParamName);
        NDArray closed = scene.Manager.Ones(new Shape(2));
        closed.Dispose();
        Assert.Throws<ObjectDisposedException>(() => Activation.Silu(closed));
    }

    private static void Near(float[] expected, NDArray found, float tolerance) => Assert.All(
        expected.Zip(found.ToFloatArray()), pair => Assert.Equal(pair.First, pair.Second, tolerance));

    private static void Says(string sentence, Action call) =>
        Assert.StartsWith(sentence, Assert.Throws<ArgumentException>(call).Message, StringComparison.Ordinal);
}
