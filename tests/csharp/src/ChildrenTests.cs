// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Xunit;

namespace Heed.Tests;

/// <summary>The children of heed's own blocks, which share their parameters with the whole.</summary>
public sealed class ChildrenTests : IDisposable
{
    private readonly TransformerScene scene = new TransformerScene();
    private readonly TransformerEncoder encoder = new TransformerEncoder(new TransformerEncoderOptions
    {
        Layer = TransformerScene.EncoderLayer(), NumLayers = 2, FinalNorm = true,
    });

    public void Dispose()
    {
        encoder.Dispose();
        scene.Dispose();
    }

    /// <summary>Names and order are those of the native layers: the names of parameters begin with them.</summary>
    [Fact]
    public void HaveAllParametersOfTheWhole()
    {
        using var decoder = new TransformerDecoder(new TransformerDecoderOptions
        {
            Layer = TransformerScene.DecoderLayer(), NumLayers = 2,
        });
        using var gpt = new TransformerDecoderBlock(TransformerScene.DecoderLayer(crosses: false));
        foreach (Block whole in new Block[] { encoder, decoder, gpt })
        {
            Assert.Equal(whole.Parameters.Keys, NamesOf(whole, string.Empty));
            Assert.Equal(whole.Parameters.Keys, whole.DirectParameters.Keys);
        }
        Assert.Contains("layers.1.self_attention.W_q.weight", encoder.Parameters.Keys);
        Assert.Equal(new[] { "layers.0", "layers.1", "norm" }, encoder.Children.Keys);
        Assert.Equal(
            new[] { "self_attention", "feed_forward", "norm_1", "norm_2", "dropout_1", "dropout_2" },
            encoder.Children["layers.0"].Children.Keys);
        Assert.Equal(
            new[]
            {
                "self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2", "norm_3", "dropout_1",
                "dropout_2", "dropout_3",
            },
            decoder.Children["layers.0"].Children.Keys);
        Assert.Equal(
            new[] { "self_attention", "feed_forward", "norm_1", "norm_2", "dropout_1", "dropout_2" },
            gpt.Children.Keys);
        Assert.Same(encoder.Children["norm"], encoder.Children["norm"]);
        Assert.IsType<MultiHeadAttention>(gpt.Children["self_attention"]);
        Assert.Empty(gpt.Children["self_attention"].Children);
        Assert.Equal("Dropout(rate=0)", gpt.Children["dropout_1"].ToString());
    }

    [Fact]
    public void ParametersOfNormsAreNoWeights()
    {
        Assert.Equal(ParameterType.Gamma, encoder.Parameters["layers.0.norm_1.weight"].Type);
        Assert.Equal(ParameterType.Beta, encoder.Parameters["norm.bias"].Type);
        Assert.Equal(ParameterType.Bias, encoder.Parameters["layers.0.feed_forward.W_1.bias"].Type);
        Assert.Equal(ParameterType.Gamma, encoder.Children["norm"].Parameters["weight"].Type);
        using var normed = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = 4, NumHeads = 2, QkNormEpsilon = 1,
        });
        Assert.Equal(ParameterType.Gamma, normed.Parameters["q_norm.weight"].Type);
        Assert.Equal(ParameterType.Weight, normed.Parameters["W_q.weight"].Type);
    }

    /// <summary>Children that were taken before follow the whole when it is initialized, cleared and loaded.</summary>
    [Fact]
    public void ShareParametersWithTheWhole()
    {
        var attention = (MultiHeadAttention)encoder.Children["layers.1"].Children["self_attention"];
        Assert.False(attention.IsInitialized);
        NDArray x = scene.Random(1, 3, 8);
        Assert.Throws<InvalidOperationException>(() => scene.Run(attention, x, x, x));
        attention.SetInitializer(Initializer.Ones, "W_q.weight");
        scene.Ready(encoder, x);
        Assert.True(attention.IsInitialized);
        Parameter ofWhole = encoder.Parameters["layers.1.self_attention.W_q.weight"];
        Assert.Equal(Enumerable.Repeat(1f, 64), ofWhole.Array.ToFloatArray());

        float[] before = scene.Run(encoder, x).ToFloatArray();
        float[] attended = scene.Run(attention, x, x, x).ToFloatArray();
        attention.Parameters["W_v.weight"].SetArray(scene.Manager.Zeros(new Shape(8, 8)));
        Assert.Equal(new float[64], encoder.Parameters["layers.1.self_attention.W_v.weight"].Array.ToFloatArray());
        Assert.NotEqual(before, scene.Run(encoder, x).ToFloatArray());
        encoder.Parameters["layers.1.self_attention.W_v.weight"].Array.Set(
            Enumerable.Range(0, 64).Select(number => number / 64f).ToArray());
        Assert.NotEqual(attended, scene.Run(attention, x, x, x).ToFloatArray());

        encoder.Cast(DataType.BFloat16);
        Assert.Equal(DataType.BFloat16, attention.Parameters["W_v.weight"].Array.DataType);
        Assert.Equal(x.Shape, scene.Run(attention, x, x, x).Shape);
        encoder.Clear();
        Assert.False(attention.IsInitialized);
        Assert.Throws<InvalidOperationException>(() => scene.Run(attention, x, x, x));
    }

    /// <summary>A child has its own calls: weights that it keeps, a cache that it fills, and its files.</summary>
    [Fact]
    public void ComputeLoadAndSaveAsAnyBlock()
    {
        NDArray x = scene.Random(2, 3, 8);
        scene.Ready(encoder, x);
        var attention = (MultiHeadAttention)encoder.Children["layers.0"].Children["self_attention"];
        Assert.False(attention.KeepAttentionWeights);
        attention.KeepAttentionWeights = true;
        float[] output = scene.Run(attention, x, x, x).ToFloatArray();
        Assert.Equal(new Shape(4, 3, 3), attention.Attention.AttentionWeights!.Shape);
        Assert.Equal(output, scene.Run(attention, new AttentionInputs(x)));
        attention.Initialize(scene.Manager, DataType.Float32, x.Shape, x.Shape, x.Shape);
        Assert.Equal(3, attention.InputShapes.Length);

        using var saved = new MemoryStream();
        attention.Save(saved);
        using var alone = new MultiHeadAttention(TransformerScene.EncoderLayer().Attention!);
        saved.Position = 0;
        alone.Load(saved);
        Assert.Equal(output, scene.Run(alone, x, x, x).ToFloatArray());
        saved.Position = 0;
        var other = (MultiHeadAttention)encoder.Children["layers.1"].Children["self_attention"];
        Assert.NotEqual(output, scene.Run(other, x, x, x).ToFloatArray());
        other.Load(saved);
        Assert.Equal(output, scene.Run(other, x, x, x).ToFloatArray());
        Assert.Equal(
            alone.Parameters["W_q.weight"].Array.ToFloatArray(),
            encoder.Parameters["layers.1.self_attention.W_q.weight"].Array.ToFloatArray());
    }

    [Fact]
    public void AreInitializedCastAndClearedAsAWhole()
    {
        NativeBlock norm = (NativeBlock)encoder.Children["norm"];
        NDArray x = scene.Random(1, 3, 8);
        foreach (Action use in new Action[]
        {
            () => norm.Initialize(scene.Manager, DataType.Float32, x.Shape),
            () => norm.Cast(DataType.Float16),
            norm.Clear,
            () => norm.LoadParameters(scene.Manager, Saved()),
        })
        {
            Assert.Contains("the child \"norm\"", Assert.Throws<InvalidOperationException>(use).Message);
        }

        // A file of the whole by the names of its parameters; a child loaded before the whole is initialized.
        scene.Ready(encoder, x);
        float[] expected = scene.Run(encoder, x).ToFloatArray();
        using var stream = new MemoryStream();
        encoder.Save(stream);
        using var copy = new TransformerEncoder(new TransformerEncoderOptions
        {
            Layer = TransformerScene.EncoderLayer(), NumLayers = 2, FinalNorm = true,
        });
        foreach (Pair<string, Block> child in copy.Children)
        {
            stream.Position = 0;
            ((NativeBlock)child.Value).Load(stream, child.Key);
        }
        Assert.True(copy.IsInitialized);
        Assert.Equal(expected, scene.Run(copy, x).ToFloatArray());
    }

    [Fact]
    public void EndWithTheWhole()
    {
        NDArray x = scene.Random(1, 3, 8);
        using (NDManager owner = scene.Manager.NewSubManager())
        {
            encoder.Initialize(owner, DataType.Float32, x.Shape);
            scene.Run(encoder.Children["layers.0"], x);
            Assert.True(encoder.Children["layers.0"].IsInitialized);
        }
        Assert.False(encoder.Children["layers.0"].IsInitialized);
        Assert.Throws<ObjectDisposedException>(() => scene.Run(encoder.Children["layers.0"], x));
        scene.Ready(encoder, x);
        float[] output = scene.Run(encoder.Children["layers.0"], x).ToFloatArray();

        Block first = encoder.Children["layers.0"].Children["norm_1"];
        first.Dispose();
        Assert.Throws<ObjectDisposedException>(() => scene.Run(first, x));
        Assert.Throws<ObjectDisposedException>(() => first.IsInitialized);
        Assert.Equal(output, scene.Run(encoder.Children["layers.0"], x).ToFloatArray());

        Block norm = encoder.Children["norm"];
        scene.Run(norm, x);
        encoder.Dispose();
        Assert.Throws<ObjectDisposedException>(() => scene.Run(norm, x));
        Assert.Throws<ObjectDisposedException>(() => norm.Parameters["weight"].Array);
        Assert.Equal(new[] { "weight", "bias" }, norm.Parameters.Keys);
    }

    /// <summary>While the whole computes on other threads, its parameters are changed through a child, and it is made
    /// anew.</summary>
    [Fact]
    public async Task MayChangeWhileTheWholeComputes()
    {
        NDArray x = scene.Random(1, 3, 8);
        scene.Ready(encoder, x);
        var norm = (NativeBlock)encoder.Children["norm"];
        NDArray zeros = scene.Manager.Zeros(new Shape(8));
        norm.Parameters["bias"].SetArray(zeros);
        bool isOver = false;
        Task[] tasks = new Block[] { encoder, norm, encoder.Children["layers.0"] }.Select(block => Task.Run(() =>
        {
            while (!Volatile.Read(ref isOver))
            {
                using NDManager sub = scene.Manager.NewSubManager();
                NDArray own = sub.Create(x.ToFloatArray(), x.Shape);
                Assert.All(scene.Run(block, own).ToFloatArray(), number => Assert.True(float.IsFinite(number)));
            }
        })).ToArray();
        for (int i = 0; i < 300; i++)
        {
            norm.Parameters["weight"].SetArray(i % 2 == 0 ? zeros : scene.Manager.Ones(new Shape(8)));
            if (i % 10 == 9)
            {
                encoder.Cast(i % 20 == 9 ? DataType.Float16 : DataType.Float32);
            }
        }
        Volatile.Write(ref isOver, true);
        await Task.WhenAll(tasks);
        Assert.Equal(DataType.Float32, norm.Parameters["weight"].Array.DataType);
    }

    /// <summary>In a block of a program's own its parameters have the names that they have in the whole.</summary>
    [Fact]
    public void AreInsideBlocksOfOnesOwn()
    {
        using var block = new ScaledBlock();
        block.Add(encoder);
        Assert.Contains("03more_layers.0.norm_1.weight", block.Parameters.Keys);
        Assert.Equal(encoder.Parameters.Count + 3, block.Parameters.Count);
    }

    private static IEnumerable<string> NamesOf(Block block, string prefix) => block.Children.IsEmpty
        ? block.Parameters.Keys.Select(name => prefix + name)
        : block.Children.SelectMany(child => NamesOf(child.Value, prefix + child.Key + "."));

    private MemoryStream Saved()
    {
        using var norm = new LayerNorm();
        norm.Initialize(scene.Manager, DataType.Float32, new Shape(8));
        var stream = new MemoryStream();
        norm.SaveParameters(stream);
        stream.Position = 0;
        return stream;
    }
}
