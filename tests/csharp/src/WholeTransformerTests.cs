// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Encoders and decoders that read ids, and Transformers of both.</summary>
public sealed class WholeTransformerTests : IDisposable
{
    private readonly TransformerScene scene = new TransformerScene();

    public void Dispose() => scene.Dispose();

    /// <summary>Composed again of its children and of sums in C#.</summary>
    [Fact]
    public void AnEncoderOfIdsIsThatOfItsChildren()
    {
        using TransformerEncoder encoder = new TransformerEncoder(new TransformerEncoderOptions
        {
            Layer = TransformerScene.EncoderLayer(),
            NumLayers = 2,
            Embedding = new EmbeddingOptions { NumEmbeddings = 7, EmbeddingSize = 4 },
            Positions = new PositionalEncodingOptions { MaxLen = 5, Kind = PositionKind.Learned },
            NumTokenTypes = 2,
            EmbeddingNorm = true,
            FinalNorm = true,
            Output = new OutputOptions { Size = 3, Bias = true, Scale = 0.5f },
        });
        Assert.Equal(
            new[]
            {
                "embedding", "token_type_embedding", "positions", "embedding_norm", "embedding_projection",
                "embedding_dropout", "layers.0", "layers.1", "norm", "output",
            },
            encoder.Children.Keys);
        Assert.Equal(encoder.Parameters.Keys, NamesOf(encoder, string.Empty));
        NDArray ids = Ids(2, 3, 6, 0, 1, 5, 2, 4);
        NDArray types = Ids(2, 3, 1, 0, 1, 0, 0, 1);
        NDArray lens = scene.Manager.Create(new[] { 2, 3 });
        scene.Ready(encoder, ids);

        NDArray rows = scene.Sum(
            scene.Run(encoder.Children["embedding"], ids), scene.Run(encoder.Children["token_type_embedding"], types));
        foreach (string name in new[] { "positions", "embedding_norm", "embedding_projection", "embedding_dropout" })
        {
            rows = scene.Run(encoder.Children[name], rows);
        }
        foreach (string name in new[] { "layers.0", "layers.1" })
        {
            rows = scene.Run(encoder.Children[name], rows, lens);
        }
        rows = scene.Run(encoder.Children["output"], scene.Run(encoder.Children["norm"], rows));
        NDArray found = scene.Run(encoder, ids, lens, types);
        Assert.Equal(new Shape(2, 3, 3), found.Shape);
        TransformerScene.Near(rows.ToFloatArray(), found.ToFloatArray());
        Assert.Equal(
            found.ToFloatArray(),
            scene.Run(encoder, new AttentionInputs(ids) { ValidLens = lens, TokenTypes = types }));
        Assert.Equal(new[] { found.Shape }, encoder.GetOutputShapes(new[] { ids.Shape, lens.Shape, types.Shape }));
        Assert.StartsWith(
            "TransformerEncoder(numLayers=2, finalNorm=True, embedding=Embedding(numEmbeddings=7, embeddingSize=4, "
            + "paddingIndex=-1, scale=0), numTokenTypes=2, positions=PositionalEncoding(numHiddens=0, maxLen=5, "
            + "kind=Learned, dropout=0), embeddingNorm=True, output=Output(size=3, tied=False, bias=True, scale=0.5, "
            + "softCap=0), layer=TransformerEncoderBlock(",
            encoder.ToString());
        encoder.Cast(DataType.BFloat16);
        Assert.Equal(DataType.BFloat16, scene.Run(encoder, ids, lens).DataType);
    }

    /// <summary>As in OPT, where positions have the size of the layers' rows, and the output is tied to a smaller
    /// embedding.</summary>
    [Fact]
    public void AnEmbeddingMayBeProjectedBeforePositions()
    {
        TransformerDecoderOptions options = DecoderOfIds(crosses: false);
        options.Embedding!.EmbeddingSize = 6;
        options.Positions = new PositionalEncodingOptions { NumHiddens = 8, MaxLen = 5, Kind = PositionKind.Learned };
        options.ProjectionBias = false;
        options.FinalNorm = true;
        options.Output = new OutputOptions { Tied = true };
        using var decoder = new TransformerDecoder(options);
        NDArray ids = Ids(2, 4, 0, 1, 2, 3, 4, 5, 6, 0);
        scene.Ready(decoder, ids);
        Assert.Equal(
            new[] { "embedding", "embedding_projection", "positions", "embedding_dropout" },
            decoder.Children.Keys.Take(4));
        Assert.Equal(new[] { "norm", "output_projection", "output" }, decoder.Children.Keys.TakeLast(3));
        Assert.Equal(decoder.Parameters.Keys, NamesOf(decoder, string.Empty));
        Assert.Equal("Linear(units=8, bias=False)", decoder.Children["embedding_projection"].ToString());
        Assert.Equal("Linear(units=6, bias=False)", decoder.Children["output_projection"].ToString());
        NDArray rows = ids;
        foreach (string name in decoder.Children.Keys)
        {
            rows = scene.Run(decoder.Children[name], rows);
        }
        Assert.Equal(new Shape(2, 4, 7), rows.Shape);
        TransformerScene.Near(rows.ToFloatArray(), scene.Run(decoder, ids).ToFloatArray());
        Assert.Contains("projectionBias=False", decoder.ToString());
    }

    [Fact]
    public void LayersMayBeShared()
    {
        using var encoder = new TransformerEncoder(new TransformerEncoderOptions
        {
            Layer = TransformerScene.EncoderLayer(), NumLayers = 3, ShareLayers = true,
        });
        NDArray x = scene.Random(1, 3, 8);
        scene.Ready(encoder, x);
        NDArray rows = x;
        foreach (string name in encoder.Children.Keys)
        {
            rows = scene.Run(encoder.Children[name], rows);
            Assert.Same(
                encoder.Parameters["layers.0.norm_1.weight"],
                encoder.Children[name].Parameters["norm_1.weight"]);
        }
        Assert.Equal(rows.ToFloatArray(), scene.Run(encoder, x).ToFloatArray());
        Assert.All(encoder.Parameters.Keys, name => Assert.StartsWith("layers.0.", name));
        Assert.Contains("shareLayers=True", encoder.ToString());
    }

    [Fact]
    public void ADecoderOfIdsTiesItsOutput()
    {
        TransformerDecoderOptions options = DecoderOfIds(crosses: false);
        options.Output = new OutputOptions { Tied = true, SoftCap = 2 };
        using var decoder = new TransformerDecoder(options);
        options.Output.SoftCap = 0; // The block has a copy.
        NDArray ids = Ids(2, 4, 0, 1, 2, 3, 4, 5, 6, 0);
        scene.Ready(decoder, ids);
        Assert.DoesNotContain("output.weight", decoder.Parameters.Keys);
        Assert.Empty(decoder.Children["output"].Parameters);
        Assert.Equal("Linear(units=7, bias=False)", decoder.Children["output"].ToString());
        NDArray lens = scene.Manager.Create(new[] { 4, 2 });
        NDArray found = scene.Run(decoder, ids, lens);
        Assert.Equal(new Shape(2, 4, 7), found.Shape);
        Assert.All(found.ToFloatArray(), logit => Assert.InRange(logit, -2, 2));
        Assert.Equal(
            found.ToFloatArray(), scene.Run(decoder, new AttentionInputs(ids) { SelfValidLens = lens }));

        using var cache = new KvCache(
            scene.Manager, new KvCacheOptions(decoder) { MaxSequences = 2, Capacity = 16 });
        var inputs = new AttentionInputs { Cache = cache };
        float[] whole = scene.Run(decoder, ids).ToFloatArray();
        for (int row = 0; row < 4; row++)
        {
            inputs.Queries = ids.Slice(1, row, 1);
            float[] step = scene.Run(decoder, inputs);
            TransformerScene.Near(
                whole.Skip(row * 7).Take(7).Concat(whole.Skip((row + 4) * 7).Take(7)).ToArray(), step);
        }
    }

    /// <summary>With a cache the scores are added in another order, in 16 bits with some ten roundings of numbers below
    /// 4.</summary>
    [Theory]
    [InlineData(DataType.Float32, TransformerScene.Rounding)]
    [InlineData(DataType.BFloat16, 10 * 4 / 256f)]
    public void ADecoderOfIdsReadsAMemory(DataType dataType, float bound)
    {
        using var decoder = new TransformerDecoder(DecoderOfIds(crosses: true));
        NDArray ids = Ids(1, 3, 0, 1, 2);
        NDArray memory = scene.Random(1, 5, 8).ToType(dataType);
        decoder.Initialize(scene.Manager, dataType, ids.Shape, memory.Shape);
        NDArray lens = scene.Manager.Create(new[] { 4 });
        NDArray found = scene.Run(decoder, ids, memory, lens);
        Assert.Equal(dataType, found.DataType);
        Assert.Equal(
            found.ToFloatArray(), scene.Run(decoder, ids, memory.Slice(1, 0, 4)).ToFloatArray());

        // The keys and values of the memory in a cache.
        using var cache = new KvCache(
            scene.Manager, new KvCacheOptions(decoder) { Capacity = 16, DataType = dataType });
        decoder.FillCache(new AttentionInputs { Keys = memory.Slice(1, 0, 4), Cache = cache });
        Assert.Equal(4, cache.Length(0));
        float[] cached = scene.Run(decoder, new AttentionInputs(ids) { MemoryCache = cache });
        Assert.All(
            cached.Zip(found.ToFloatArray()), pair => Assert.Equal(pair.Second, pair.First, bound));
    }

    [Fact]
    public void LayersMayHaveNormsBehindTheirParts()
    {
        TransformerEncoderBlockOptions options = TransformerScene.EncoderLayer(normFirst: true);
        options.OutputNorms = true;
        options.NoFirstNorm = true;
        NDArray x = scene.Random(1, 3, 8);
        using TransformerEncoderBlock block = scene.Ready(new TransformerEncoderBlock(options), x);
        Assert.Equal(
            new[]
            {
                "self_attention", "feed_forward", "norm_2", "output_norm_1", "output_norm_2", "dropout_1", "dropout_2",
            },
            block.Children.Keys);
        Assert.Equal(block.Parameters.Keys, NamesOf(block, string.Empty));
        NDArray attended = scene.Run(block.Children["self_attention"], x, x, x);
        NDArray h = scene.Sum(x, scene.Run(block.Children["output_norm_1"], attended));
        NDArray fed = scene.Run(block.Children["feed_forward"], scene.Run(block.Children["norm_2"], h));
        NDArray expected = scene.Sum(h, scene.Run(block.Children["output_norm_2"], fed));
        TransformerScene.Near(expected.ToFloatArray(), scene.Run(block, x).ToFloatArray());
        Assert.EndsWith("normFirst=True, dropout=0, outputNorms=True, noFirstNorm=True)", block.ToString());

        options = TransformerScene.EncoderLayer(normFirst: true);
        options.ResidualScale = 0.25f;
        using TransformerEncoderBlock scaled = scene.Ready(new TransformerEncoderBlock(options), x);
        NDArray rows = scene.Run(scaled.Children["norm_1"], x);
        h = scene.Sum(x, Scaled(scene.Run(scaled.Children["self_attention"], rows, rows, rows)));
        rows = scene.Run(scaled.Children["feed_forward"], scene.Run(scaled.Children["norm_2"], h));
        TransformerScene.Near(scene.Sum(h, Scaled(rows)).ToFloatArray(), scene.Run(scaled, x).ToFloatArray());
        Assert.EndsWith("residualScale=0.25)", scaled.ToString());
        options.OutputNorms = true;
        Refused("ResidualScale is 0.25", () => new TransformerEncoderBlock(options));
        options.NormFirst = false;
        options.ResidualScale = 0;
        Refused("NormFirst", () => new TransformerEncoderBlock(options));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void ATransformerIsAnEncoderAndADecoder(bool hasIds)
    {
        TransformerOptions options = NewOptions();
        if (hasIds)
        {
            options.Embedding = new EmbeddingOptions { NumEmbeddings = 7, Scale = 3 };
            options.Output = new OutputOptions { Tied = true, Scale = 0.5f };
        }
        using var transformer = new Transformer(options);
        NDArray source = hasIds ? Ids(2, 3, 6, 0, 1, 5, 2, 4) : scene.Random(2, 3, 8);
        NDArray target = hasIds ? Ids(2, 2, 1, 2, 3, 4) : scene.Random(2, 2, 8);
        NDArray lens = scene.Manager.Create(new[] { 2, 3 });
        scene.Ready(transformer, target, source);
        NDArray Embedded(string name, NDArray given) =>
            hasIds ? scene.Run(transformer.Children[name], given) : given;
        NDArray memory = scene.Run(transformer.Children["encoder"], Embedded("embedding", source), lens);
        NDArray expected = scene.Run(
            transformer.Children["decoder"], Embedded("decoder_embedding", target), memory, lens);
        if (hasIds)
        {
            expected = scene.Run(transformer.Children["output"], expected);
        }
        NDArray found = scene.Run(transformer, target, source, lens);
        TransformerScene.Near(expected.ToFloatArray(), found.ToFloatArray());
        Assert.Equal(
            found.ToFloatArray(), scene.Run(transformer, new AttentionInputs(target, source) { ValidLens = lens }));
        float[] encoded = scene.Run(transformer, new AttentionInputs { Keys = source, ValidLens = lens });
        TransformerScene.Near(memory.ToFloatArray(), encoded);
        Assert.Equal(
            found.ToFloatArray(),
            scene.Run(transformer, new AttentionInputs(target)
            {
                Memory = scene.Manager.Create(encoded, new Shape(2, 3, 8)), ValidLens = lens,
            }));
        Assert.Equal(
            (hasIds ? new[] { "embedding", "decoder_embedding" } : Array.Empty<string>())
                .Concat(new[] { "encoder", "decoder" }).Concat(hasIds ? new[] { "output" } : Array.Empty<string>()),
            transformer.Children.Keys);
        if (hasIds)
        {
            Assert.Same(
                transformer.Parameters["embedding.weight"],
                transformer.Children["decoder_embedding"].Parameters["weight"]);
        }
        Assert.Contains("\"transformer\"", transformer.Explain(new NDList(target, source)));
        Assert.Equal(new[] { found.Shape }, transformer.GetOutputShapes(new[] { target.Shape, source.Shape }));
    }

    [Fact]
    public void WrongOptionsAreRefusedByName()
    {
        Refused("Encoder is null", () => new Transformer(new TransformerOptions { Decoder = NewOptions().Decoder }));
        TransformerOptions options = NewOptions();
        options.Decoder!.Layer!.CrossAttention = null;
        Refused("CrossAttention is null", () => new Transformer(options));
        options = NewOptions();
        options.Encoder!.Output = new OutputOptions { Size = 3 };
        Refused("Output is set, expected null: the decoder attends", () => new Transformer(options));
        options = NewOptions();
        options.Output = new OutputOptions { Tied = true };
        Refused("Tied", () => new Transformer(options));
        options = NewOptions();
        options.Embedding = new EmbeddingOptions { NumEmbeddings = 7, EmbeddingSize = 9 };
        Refused("EmbeddingSize is 9", () => new Transformer(options));
        var encoder = new TransformerEncoderOptions
        {
            Layer = TransformerScene.EncoderLayer(), NumLayers = 1, NumTokenTypes = 2,
        };
        Refused("NumTokenTypes is 2", () => new TransformerEncoder(encoder));
        encoder.NumTokenTypes = 0;
        encoder.Output = new OutputOptions();
        Refused("is 0, expected at least 1", () => new TransformerEncoder(encoder));
        encoder.Output = null;
        encoder.Positions = new PositionalEncodingOptions { MaxLen = 4, NumHiddens = 6 };
        Refused("is 6", () => new TransformerEncoder(encoder));
        Assert.Throws<ArgumentNullException>(() => new Transformer(null!));
    }

    private static IEnumerable<string> NamesOf(Block block, string prefix) => block.Children.IsEmpty
        ? block.Parameters.Keys.Select(name => prefix + name)
        : block.Children.SelectMany(child => NamesOf(child.Value, prefix + child.Key + "."));

    private static void Refused(string part, Action use) =>
        Assert.Contains(part, Assert.Throws<ArgumentException>(use).Message);

    private static TransformerOptions NewOptions() => new()
    {
        Encoder = new TransformerEncoderOptions { Layer = TransformerScene.EncoderLayer(), NumLayers = 2 },
        Decoder = new TransformerDecoderOptions
        {
            Layer = TransformerScene.DecoderLayer(normFirst: true), NumLayers = 2, FinalNorm = true,
        },
    };

    private static TransformerDecoderOptions DecoderOfIds(bool crosses)
    {
        TransformerDecoderBlockOptions layer = TransformerScene.DecoderLayer(crosses);
        if (crosses)
        {
            layer.CrossAttention!.NumHeads = 2;
        }
        return new TransformerDecoderOptions
        {
            Layer = layer, NumLayers = 2, Embedding = new EmbeddingOptions { NumEmbeddings = 7 },
            Positions = new PositionalEncodingOptions { MaxLen = 8 },
        };
    }

    private NDArray Ids(int numRows, int size, params int[] ids) =>
        scene.Manager.Create(ids, new Shape(numRows, size));

    private NDArray Scaled(NDArray rows) =>
        scene.Manager.Create(rows.ToFloatArray().Select(number => number / 4).ToArray(), rows.Shape);
}
