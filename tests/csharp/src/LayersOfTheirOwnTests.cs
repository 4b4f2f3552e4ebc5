// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Stacks whose layers have options of their own, and stacks that read images and features.</summary>
public sealed class LayersOfTheirOwnTests : IDisposable
{
    private const int Size = TransformerScene.Size;

    private readonly TransformerScene scene = new TransformerScene();

    public void Dispose() => scene.Dispose();

    [Fact]
    public void OfAnEncoder()
    {
        TransformerEncoderBlockOptions second = TransformerScene.EncoderLayer();
        second.Attention!.Window = Window.TopLeft;
        second.Attention.WindowLeft = 1;
        TransformerEncoderBlockOptions third = TransformerScene.EncoderLayer();
        third.FeedForward!.HiddenSize = 20;
        third.FeedForward.Gated = true;
        using var encoder = new TransformerEncoder(new TransformerEncoderOptions
        {
            Layers = new[] { TransformerScene.EncoderLayer(), second, third },
        });
        NDArray x = scene.Random(2, 5, Size);
        scene.Ready(encoder, x);
        Assert.Equal(new[] { "layers.0", "layers.1", "layers.2" }, encoder.Children.Keys);
        TransformerScene.Near(OfLayers(encoder, 3, x).ToFloatArray(), scene.Run(encoder, x).ToFloatArray());
        Block last = encoder.Children["layers.2"];
        Assert.Contains("feed_forward.W_gate.weight", last.Parameters.Keys);
        Assert.Equal(new Shape(20, Size), last.Parameters["feed_forward.W_1.weight"].Shape);
        Assert.Equal(new Shape(16, Size), encoder.Parameters["layers.1.feed_forward.W_1.weight"].Shape);
        Assert.Contains("numLayers=3, finalNorm=False, layers=[", encoder.ToString(), StringComparison.Ordinal);

        // The second layer sees one row before each, and no later one.
        var taps = new Taps("layers.1.self_attention");
        encoder.Forward(scene.Store, new NDList(x), taps);
        float[] weights = taps.Weights["layers.1.self_attention"].ToFloatArray();
        for (int i = 0; i < weights.Length; i++)
        {
            int query = i / 5 % 5;
            Assert.Equal(i % 5 == query || i % 5 == query - 1, weights[i] != 0);
        }
    }

    [Fact]
    public void OfADecoder()
    {
        using var decoder = new TransformerDecoder(new TransformerDecoderOptions
        {
            Layers = new[]
            {
                TransformerScene.DecoderLayer(crosses: false),
                TransformerScene.DecoderLayer(crosses: false, normFirst: true),
            },
            NumLayers = 2,
            FinalNorm = true,
        });
        NDArray x = scene.Random(1, 4, Size);
        scene.Ready(decoder, x);
        NDArray rows = scene.Run(decoder.Children["norm"], OfLayers(decoder, 2, x));
        TransformerScene.Near(rows.ToFloatArray(), scene.Run(decoder, x).ToFloatArray());
    }

    [Fact]
    public void AreRefusedByTheirNumbers()
    {
        TransformerEncoderBlockOptions layer = TransformerScene.EncoderLayer();
        TransformerEncoderBlockOptions other = TransformerScene.EncoderLayer();
        other.Attention!.NumHiddens = 6;
        Refused(
            "NumLayers is 3, but Layers has options for 2: expected the same number, or none",
            new TransformerEncoderOptions { Layers = new[] { layer, layer }, NumLayers = 3 });
        Refused(
            "Layers is set, but so is Layer: expected null for one of them",
            new TransformerEncoderOptions { Layers = new[] { layer, layer }, Layer = layer });
        Refused(
            "NumLayers is 0, expected 1 to 4096",
            new TransformerEncoderOptions { Layers = Array.Empty<TransformerEncoderBlockOptions>() });
        Refused(
            "Layers[1].NumHiddens is 6, expected 8, as in the first layer",
            new TransformerEncoderOptions { Layers = new[] { layer, other } });
        other.Attention.NumHiddens = 8;
        other.Attention.NumHeads = 0;
        Refused(
            "Layers[1].NumHeads is 0, expected at least 1",
            new TransformerEncoderOptions { Layers = new[] { layer, other } });
        Refused("Layers has null", new TransformerEncoderOptions { Layers = new[] { layer, null! } });
    }

    /// <summary>Each patch is one pixel wide, so that the rows are those of the pixels' columns.</summary>
    [Fact]
    public void PatchEmbeddingGivesARowForEachPatch()
    {
        var options = new PatchEmbeddingOptions
        {
            PatchHeight = 2, PatchWidth = 1, NumChannels = 1, NumHiddens = 2, ClassToken = true,
        };
        using var patches = new PatchEmbedding(options);
        Assert.Equal(
            "PatchEmbedding(patchHeight=2, patchWidth=1, numChannels=1, numHiddens=2, classToken=True, bias=True, "
            + "imageHeight=0, imageWidth=0)",
            patches.ToString());
        Assert.Equal(new[] { "weight", "bias", "class_token" }, patches.Parameters.Keys);
        Set(patches, "weight", new Shape(2, 2), 1, 10, 2, 0);
        Set(patches, "bias", new Shape(2), .5f, 0);
        Set(patches, "class_token", new Shape(2), 7, 8);
        NDArray rows = scene.Run(patches, scene.Manager.Create(new[] { 1f, 2, 3, 4 }, new Shape(1, 1, 2, 2)));
        Assert.Equal(new Shape(1, 3, 2), rows.Shape);
        Assert.Equal(new[] { 7, 8, 31.5f, 2, 42.5f, 4 }, rows.ToFloatArray());

        options.ImageHeight = 3;
        Says("ImageHeight is 3, expected a multiple of PatchHeight, 2, or 0", () => new PatchEmbedding(options));
        options.ImageHeight = 4;
        options.ImageWidth = 1;
        using var ofOneSize = new PatchEmbedding(options);
        Assert.EndsWith("imageHeight=4, imageWidth=1)", ofOneSize.ToString());
        scene.Ready(ofOneSize, scene.Random(1, 1, 4, 1));
        Says(
            "Queries has shape (1, 1, 2, 2), expected (B, 1, 4, 1): the block reads images of one size",
            () => scene.Run(ofOneSize, scene.Random(1, 1, 2, 2)));

        options.NumHiddens = 0;
        Says("NumHiddens is 0, expected at least 1", () => new PatchEmbedding(options));
        Says("PatchHeight is 0, expected at least 1", () => new PatchEmbedding(new PatchEmbeddingOptions()));
    }

    [Fact]
    public void AudioEmbeddingHalvesTheFrames()
    {
        using var audio = new AudioEmbedding(new AudioEmbeddingOptions { NumMels = 2, NumHiddens = 3 });
        Assert.Equal("AudioEmbedding(numMels=2, numHiddens=3)", audio.ToString());
        NDArray features = scene.Random(2, 2, 5);
        scene.Ready(audio, features);
        Assert.Equal(
            new[] { "conv_1.weight", "conv_1.bias", "conv_2.weight", "conv_2.bias" }, audio.Parameters.Keys);
        Set(audio, "conv_2.weight", new Shape(3, 9), new float[27]);
        Set(audio, "conv_2.bias", new Shape(3), 1, -1, -3);
        NDArray rows = scene.Run(audio, features);
        Assert.Equal(new Shape(2, 3, 3), rows.Shape);
        NDArray gelu = Activation.Gelu(scene.Manager.Create(new[] { 1f, -1, -3 }));
        Assert.Equal(gelu.ToFloatArray(), rows.ToFloatArray().Take(3));
        Says(
            "NumMels is 0, expected 1 to 3074457345618258602",
            () => new AudioEmbedding(new AudioEmbeddingOptions { NumHiddens = 1 }));
    }

    [Fact]
    public void EncodersReadImagesAndFeatures()
    {
        var patches = new PatchEmbeddingOptions { PatchHeight = 2, NumChannels = 3, ClassToken = true };
        var audio = new AudioEmbeddingOptions { NumMels = 4 };
        var options = new TransformerEncoderOptions { Layer = TransformerScene.EncoderLayer(), NumLayers = 2 };
        options.Patches = patches;
        using var ofImages = new TransformerEncoder(options);
        options.Patches = null;
        options.Audio = audio;
        options.EmbeddingNorm = true;
        using var ofAudio = new TransformerEncoder(options);

        NDArray images = scene.Random(2, 3, 4, 4);
        scene.Ready(ofImages, images);
        Assert.Equal(new[] { "patches", "embedding_dropout", "layers.0", "layers.1" }, ofImages.Children.Keys);
        NDArray rows = OfLayers(ofImages, 2, scene.Run(ofImages.Children["patches"], images));
        Assert.Equal(new Shape(2, 5, Size), rows.Shape);
        TransformerScene.Near(rows.ToFloatArray(), scene.Run(ofImages, images).ToFloatArray());
        Assert.Contains("patches=PatchEmbedding(patchHeight=2", ofImages.ToString(), StringComparison.Ordinal);

        NDArray features = scene.Random(2, 4, 6);
        scene.Ready(ofAudio, features);
        Assert.Equal(
            new[] { "audio", "embedding_norm", "embedding_dropout", "layers.0", "layers.1" }, ofAudio.Children.Keys);
        NDArray first = scene.Run(ofAudio.Children["embedding_norm"], scene.Run(ofAudio.Children["audio"], features));
        rows = OfLayers(ofAudio, 2, first);
        Assert.Equal(new Shape(2, 3, Size), rows.Shape);
        TransformerScene.Near(rows.ToFloatArray(), scene.Run(ofAudio, features).ToFloatArray());
        Assert.Contains("audio=AudioEmbedding(numMels=4", ofAudio.ToString(), StringComparison.Ordinal);

        options.Patches = patches;
        Refused("Audio is set, but so is Patches: expected null for one of them", options);
    }

    private static void Refused(string sentence, TransformerEncoderOptions options) =>
        Says(sentence, () => new TransformerEncoder(options));

    private static void Says(string sentence, Func<object> call) =>
        Assert.StartsWith(sentence, Assert.Throws<ArgumentException>(call).Message, StringComparison.Ordinal);

    private void Set(Block block, string name, Shape shape, params float[] values) =>
        block.Parameters[name].SetArray(scene.Manager.Create(values, shape));

    /// <summary>The output of the children "layers.0", "layers.1", ..., one after another.</summary>
    private NDArray OfLayers(Block stack, int numLayers, NDArray x)
    {
        NDArray rows = x;
        for (int i = 0; i < numLayers; i++)
        {
            rows = scene.Run(stack.Children[$"layers.{i}"], rows);
        }
        return rows;
    }
}
