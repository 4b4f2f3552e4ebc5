// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>What layers of encoders and decoders, and stacks of them, compute.</summary>
public sealed class TransformerTests : IDisposable
{
    private readonly TransformerScene scene = new TransformerScene();

    public void Dispose() => scene.Dispose();

    /// <summary>Composed again of its children and of sums in C#.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void AnEncoderLayerIsThatOfTheFormula(bool normFirst)
    {
        NDArray x = scene.Random(2, 3, 8);
        NDArray lens = scene.Manager.Create(new[] { 2, 3 });
        using TransformerEncoderBlock block =
            scene.Ready(new TransformerEncoderBlock(TransformerScene.EncoderLayer(normFirst)), x);
        NDArray Attend(NDArray rows) => scene.Run(block.Children["self_attention"], rows, rows, rows, lens);
        NDArray Step(NDArray rows, Func<NDArray, NDArray> part, string norm) => normFirst
            ? scene.Sum(rows, part(scene.Run(block.Children[norm], rows)))
            : scene.Run(block.Children[norm], scene.Sum(rows, part(rows)));

        NDArray h = Step(x, Attend, "norm_1");
        NDArray expected = Step(h, rows => scene.Run(block.Children["feed_forward"], rows), "norm_2");
        NDArray found = scene.Run(block, x, lens);
        Assert.Equal(x.Shape, found.Shape);
        TransformerScene.Near(expected.ToFloatArray(), found.ToFloatArray());

        // By name, and with the mask that hides the same keys.
        float[] sameBits = found.ToFloatArray();
        Assert.Equal(sameBits, scene.Run(block, new AttentionInputs(x) { ValidLens = lens }));
        NDArray mask = scene.Manager.Create(new[] { true, true, false, true, true, true }, new Shape(2, 1, 1, 3));
        TransformerScene.Near(sameBits, scene.Run(block, new AttentionInputs(x) { Mask = mask }));
        Assert.NotEqual(sameBits, scene.Run(block, x).ToFloatArray());
        Assert.Equal(scene.Run(block, x).ToFloatArray(), scene.Run(block, x, null).ToFloatArray());
        Assert.Equal(new[] { x.Shape }, block.GetOutputShapes(new[] { x.Shape, lens.Shape }));
        Assert.Contains("\"encoder_layer\"", block.Explain(new NDList(x, lens)));
    }

    [Theory]
    [InlineData(false, true)]
    [InlineData(true, true)]
    [InlineData(false, false)]
    [InlineData(true, false)]
    public void ADecoderLayerIsThatOfTheFormula(bool normFirst, bool crosses)
    {
        NDArray x = scene.Random(2, 3, 8);
        NDArray? memory = crosses ? scene.Random(2, 5, 6) : null;
        NDArray? lens = crosses ? scene.Manager.Create(new float[] { 5, 2 }) : null;
        NDArray?[] inputs = crosses ? new[] { x, memory, lens } : new NDArray?[] { x };
        using TransformerDecoderBlock block =
            scene.Ready(new TransformerDecoderBlock(TransformerScene.DecoderLayer(crosses, normFirst)), inputs);
        NDArray Step(NDArray rows, Func<NDArray, NDArray> part, string norm) => normFirst
            ? scene.Sum(rows, part(scene.Run(block.Children[norm], rows)))
            : scene.Run(block.Children[norm], scene.Sum(rows, part(rows)));

        NDArray rows = Step(x, each => scene.Run(block.Children["self_attention"], each, each, each), "norm_1");
        if (crosses)
        {
            rows = Step(
                rows, each => scene.Run(block.Children["cross_attention"], each, memory, memory, lens), "norm_2");
        }
        rows = Step(rows, each => scene.Run(block.Children["feed_forward"], each), crosses ? "norm_3" : "norm_2");
        NDArray found = scene.Run(block, inputs);
        Assert.Equal(x.Shape, found.Shape);
        TransformerScene.Near(rows.ToFloatArray(), found.ToFloatArray());
        Assert.Equal(
            found.ToFloatArray(), scene.Run(block, new AttentionInputs(x, memory) { ValidLens = lens }));
    }

    /// <summary>Lengths, a mask and a bias of self-attention hide the same keys.</summary>
    [Fact]
    public void ADecoderHasInputsOfBothAttentions()
    {
        NDArray x = scene.Random(2, 3, 8);
        NDArray memory = scene.Random(2, 4, 8);
        using TransformerDecoderBlock block =
            scene.Ready(new TransformerDecoderBlock(TransformerScene.DecoderLayer()), x, memory);
        var inputs = new AttentionInputs(x, memory);
        float[] all = scene.Run(block, inputs);
        inputs.SelfValidLens = scene.Manager.Create(new[] { 1, 3 });
        float[] expected = scene.Run(block, inputs);
        Assert.NotEqual(all, expected);
        Assert.Equal(all.Skip(24), expected.Skip(24));

        inputs.SelfValidLens = null;
        inputs.SelfMask = scene.Manager.Create(new[] { true, false, false, true, true, true }, new Shape(2, 1, 1, 3));
        TransformerScene.Near(expected, scene.Run(block, inputs));
        inputs.SelfMask = null;
        float hidden = float.NegativeInfinity;
        inputs.SelfBias = scene.Manager.Create(new[] { 0, hidden, hidden, 0, 0, 0 }, new Shape(2, 1, 1, 3));
        TransformerScene.Near(expected, scene.Run(block, inputs));
        Assert.Null(inputs.Clear().SelfBias);

        inputs.Queries = x;
        inputs.Keys = memory;
        inputs.Mask = scene.Manager.Create(new[] { true, true, false, false }, new Shape(1, 1, 1, 4));
        float[] masked = scene.Run(block, inputs);
        inputs.Mask = null;
        inputs.ValidLens = scene.Manager.Create(new[] { 2, 2 });
        TransformerScene.Near(masked, scene.Run(block, inputs));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void AnEncoderIsItsLayersOneAfterAnother(bool finalNorm)
    {
        NDArray x = scene.Random(2, 3, 8);
        NDArray lens = scene.Manager.Create(new[] { 1, 3 });
        using TransformerEncoder encoder = scene.Ready(
            new TransformerEncoder(new TransformerEncoderOptions
            {
                Layer = TransformerScene.EncoderLayer(normFirst: finalNorm), NumLayers = 3, FinalNorm = finalNorm,
            }),
            x);
        NDArray rows = x;
        foreach (string name in new[] { "layers.0", "layers.1", "layers.2" })
        {
            rows = scene.Run(encoder.Children[name], rows, lens);
        }
        if (finalNorm)
        {
            rows = scene.Run(encoder.Children["norm"], rows);
        }
        Assert.Equal(rows.ToFloatArray(), scene.Run(encoder, x, lens).ToFloatArray());
        Assert.Equal(finalNorm ? 4 : 3, encoder.Children.Count);
    }

    [Fact]
    public void ADecoderIsItsLayersOneAfterAnother()
    {
        NDArray x = scene.Random(1, 3, 8);
        NDArray memory = scene.Random(1, 5, 8);
        using TransformerDecoder decoder = NewDecoder(x, memory);
        NDArray rows = scene.Run(decoder.Children["layers.0"], x, memory);
        rows = scene.Run(decoder.Children["layers.1"], rows, memory);
        rows = scene.Run(decoder.Children["norm"], rows);
        Assert.Equal(rows.ToFloatArray(), scene.Run(decoder, x, memory).ToFloatArray());
    }

    [Fact]
    public void StepsWithACacheGiveWhatTheWholeSequenceGives()
    {
        const int numRows = 9;
        NDArray x = scene.Random(1, numRows, 8);
        NDArray memory = scene.Random(1, 4, 8);
        using TransformerDecoder decoder = NewDecoder(x, memory);
        float[] expected = scene.Run(decoder, x, memory).ToFloatArray();
        using var cache = new KvCache(scene.Manager, new KvCacheOptions
        {
            NumLayers = 2, MaxSequences = 2, NumKvHeads = 2, HeadSize = 4, Capacity = 16,
        });
        var found = new List<float>();
        var inputs = new AttentionInputs(x.Slice(1, 0, 4), memory)
        {
            Cache = cache, Sequences = new long[] { 1 },
        };
        found.AddRange(scene.Run(decoder, inputs));
        for (int row = 4; row < numRows; row++)
        {
            inputs.Queries = x.Slice(1, row, 1);
            found.AddRange(scene.Run(decoder, inputs));
        }
        TransformerScene.Near(expected, found.ToArray());
        Assert.Equal(numRows, cache.Length(1));
        inputs.CacheLayer = 1; // The second layer would use the cache's third.
        Refused("CacheLayer", () => decoder.CreateOutputs(inputs));
        inputs.CacheLayer = 0;
        inputs.CacheUse = CacheUse.Read;
        Refused("CacheUse.Read", () => decoder.CreateOutputs(inputs));
    }

    /// <summary>Rows of several sentences without padding have the bits that each sentence has alone.</summary>
    [Fact]
    public void PackedRowsHaveTheBitsOfEachElementAlone()
    {
        NDArray x = scene.Random(1, 5, 8);
        using TransformerEncoderBlock block =
            scene.Ready(new TransformerEncoderBlock(TransformerScene.EncoderLayer()), x);
        float[] packed = scene.Run(block, new AttentionInputs(x.Reshape(5, 8))
        {
            QueryOffsets = scene.Manager.Create(new[] { 0, 2, 5 }),
        });
        Assert.Equal(
            scene.Run(block, x.Slice(1, 0, 2)).ToFloatArray().Concat(scene.Run(block, x.Slice(1, 2, 3)).ToFloatArray()),
            packed);
    }

    [Fact]
    public void TrainingDropsAndSeedsRepeat()
    {
        TransformerEncoderBlockOptions options = TransformerScene.EncoderLayer();
        options.Dropout = 0.5f;
        NDArray x = scene.Random(1, 3, 8);
        using TransformerEncoderBlock block = scene.Ready(new TransformerEncoderBlock(options), x);
        options.Dropout = 0; // The block has a copy.
        float[] Output(bool training) => block.Forward(scene.Store, new NDList(x), training)[0].ToFloatArray();
        Assert.Equal(Output(false), Output(false));
        block.SetSeed(3);
        float[] first = Output(true);
        Assert.NotEqual(first, Output(true));
        block.SetSeed(3);
        Assert.Equal(first, Output(true));
    }

    [Fact]
    public void WrongOptionsAreRefusedByName()
    {
        Refused("Attention is null", () => new TransformerEncoderBlock(new TransformerEncoderBlockOptions()));
        Refused("NumHeads is 0", () => new TransformerEncoderBlock(new TransformerEncoderBlockOptions
        {
            Attention = new MultiHeadAttentionOptions { NumHiddens = 8 },
            FeedForward = new FeedForwardOptions { HiddenSize = 8 },
        }));
        TransformerEncoderBlockOptions layer = TransformerScene.EncoderLayer();
        layer.FeedForward = null;
        Refused("is null", () => new TransformerEncoderBlock(layer));
        layer.FeedForward = new FeedForwardOptions { HiddenSize = 4, OutputSize = 9 };
        Refused("OutputSize is 9", () => new TransformerEncoderBlock(layer));
        layer = TransformerScene.EncoderLayer();
        Refused("is null", () => new TransformerEncoder(new TransformerEncoderOptions { NumLayers = 1 }));
        Refused("NumLayers is 0", () => new TransformerEncoder(new TransformerEncoderOptions { Layer = layer }));
        Refused("NumLayers is 4097", () => new TransformerDecoder(new TransformerDecoderOptions
        {
            Layer = TransformerScene.DecoderLayer(), NumLayers = 4097,
        }));
        TransformerDecoderBlockOptions decoder = TransformerScene.DecoderLayer();
        decoder.CrossAttention!.NumHiddens = 12;
        Refused("NumHiddens is 12", () => new TransformerDecoderBlock(decoder));
    }

    [Fact]
    public void InputsOfAnotherAttentionAreRefused()
    {
        NDArray x = scene.Random(1, 3, 8);
        NDArray mask = scene.Manager.Ones(new Shape(3, 3), DataType.Boolean);
        using TransformerEncoderBlock encoder =
            scene.Ready(new TransformerEncoderBlock(TransformerScene.EncoderLayer()), x);
        Refused("SelfMask", () => encoder.CreateOutputs(new AttentionInputs(x) { SelfMask = mask }));
        Refused("Keys", () => encoder.CreateOutputs(new AttentionInputs(x, x)));
        using TransformerDecoderBlock decoder =
            scene.Ready(new TransformerDecoderBlock(TransformerScene.DecoderLayer(crosses: false)), x);
        Refused("Mask", () => decoder.CreateOutputs(new AttentionInputs(x) { Mask = mask }));
        Refused("Keys", () => decoder.Forward(scene.Store, new NDList(x, x)));
        Refused("SelfMask is of Float32", () => new AttentionInputs(x) { SelfMask = x });
        Refused(
            "inputs has 3 arrays, expected 1 or 2: x and, optional, validLens",
            () => encoder.Forward(scene.Store, new NDList(x, x, x)));
        Refused(
            "inputs has 4 arrays, expected 1 to 3: x and, optional, memory and memoryValidLens",
            () => decoder.Forward(scene.Store, new NDList(x, x, x, x)));
        using TransformerDecoderBlock crossing =
            scene.Ready(new TransformerDecoderBlock(TransformerScene.DecoderLayer()), x, x);
        Refused("Keys is null", () => crossing.Forward(scene.Store, new NDList(x)));
        Refused("(1, 3, 9)", () => encoder.Forward(scene.Store, new NDList(scene.Random(1, 3, 9))));
    }

    /// <summary>An nn.TransformerEncoder in the file of a whole model, and its second layer alone.</summary>
    [Fact]
    public void PyTorchsFilesAreRead()
    {
        string file = TestFiles.Golden("weights/pytorch_encoder");
        var layer = new TransformerEncoderBlockOptions
        {
            Attention = new MultiHeadAttentionOptions { NumHiddens = 12, NumHeads = 3, Biases = Bias.All },
            FeedForward = new FeedForwardOptions { HiddenSize = 4 },
        };
        using var encoder = new TransformerEncoder(new TransformerEncoderOptions { Layer = layer, NumLayers = 2 });
        encoder.Load(file, "encoder");
        using var second = new TransformerEncoderBlock(layer);
        second.Load(file, "encoder.layers.1");
        NDArray x = scene.Manager.Load(file, "queries");
        Assert.Equal(
            scene.Run(second, scene.Run(encoder.Children["layers.0"], x)).ToFloatArray(),
            scene.Run(encoder, x).ToFloatArray());
        NDArray attended = scene.Run(second.Children["self_attention"], x, x, x);
        NDArray expected = scene.Manager.Load(file, "output").ToType(DataType.Float32);
        TransformerScene.Near(expected.ToFloatArray(), attended.ToFloatArray());

        using var shorter = new TransformerEncoder(new TransformerEncoderOptions { Layer = layer, NumLayers = 1 });
        Refused("layers.1", () => shorter.Load(file, "encoder"));
    }

    [Fact]
    public void TextsHaveTheOptions()
    {
        using var encoder = new TransformerEncoder(new TransformerEncoderOptions
        {
            Layer = TransformerScene.EncoderLayer(), NumLayers = 2,
        });
        string text = encoder.ToString();
        Assert.StartsWith("TransformerEncoder(numLayers=2, finalNorm=False, layer=TransformerEncoderBlock(", text);
        Assert.Contains("attention=MultiHeadAttention(numHiddens=8, ", text);
        Assert.EndsWith("normFirst=False, dropout=0))", text);
        using var decoder = new TransformerDecoder(new TransformerDecoderOptions
        {
            Layer = TransformerScene.DecoderLayer(crosses: false), NumLayers = 1,
        });
        Assert.Contains("crossAttention=null, feedForward=FeedForward(", decoder.ToString());
    }

    private static void Refused(string part, Action use) =>
        Assert.Contains(part, Assert.Throws<ArgumentException>(use).Message);

    private TransformerDecoder NewDecoder(NDArray x, NDArray memory) => scene.Ready(
        new TransformerDecoder(new TransformerDecoderOptions
        {
            Layer = TransformerScene.DecoderLayer(normFirst: true), NumLayers = 2, FinalNorm = true,
        }),
        x,
        memory);
}
