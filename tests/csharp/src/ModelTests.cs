// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Whole models from their folders, against the numbers of Hugging Face's own classes.</summary>
public sealed class ModelTests
{
    [Theory]
    [InlineData("bert")]
    [InlineData("electra")]
    public void AnEncoderTakesIdsLengthsAndTokenTypes(string family)
    {
        using var bert = new ModelFolder(family);
        NDArray ids = bert.Case("input_ids");
        NDArray types = bert.Case("token_type_ids");
        const string Name = "last_hidden_state";
        NDArray found = bert.Run(bert.Block, ids, bert.Lens, types);
        bert.Expect(Name, found, isPadded: true);
        var inputs = new AttentionInputs(ids, validLens: bert.Lens) { TokenTypes = types };
        Assert.Equal(found.ToFloatArray(), bert.Run(inputs).ToFloatArray());
        Assert.Null(inputs.Clear().TokenTypes);

        // Other types of ids, and token types that are 0.
        Assert.Equal(
            found.ToFloatArray(),
            bert.Run(bert.Block, ids.ToType(DataType.Int32), bert.Lens, types.ToType(DataType.Int32)).ToFloatArray());
        NDArray zeros = bert.Manager.Zeros(types.Shape, DataType.Int64);
        float[] untyped = bert.Run(bert.Block, ids, bert.Lens).ToFloatArray();
        Assert.NotEqual(found.ToFloatArray(), untyped);
        Assert.Equal(untyped, bert.Run(bert.Block, ids, bert.Lens, zeros).ToFloatArray());
        Assert.Equal(
            bert.Run(bert.Block, ids).ToFloatArray(), bert.Run(bert.Block, ids, null, zeros).ToFloatArray());
        Assert.Equal(
            new[] { bert.Case(Name).Shape },
            bert.Block.GetOutputShapes(new[] { ids.Shape, bert.Lens.Shape, types.Shape }));
        Assert.Contains("\"encoder\"", bert.Block.Explain(new NDList(ids, bert.Lens, types)));
    }

    /// <summary>T5EncoderModel, whose folder has no decoder.</summary>
    [Fact]
    public void TheEncoderOfATransformerMayBeAlone()
    {
        using var encoder = new ModelFolder("t5-encoder-alone", "model_settings");
        NDArray ids = encoder.Case("input_ids");
        encoder.Expect("last_hidden_state", encoder.Run(encoder.Block, ids, encoder.Lens), isPadded: true);
        Assert.DoesNotContain("decoder", encoder.Block.Children.Keys);
    }

    /// <summary>Each family has the list of its kind.</summary>
    [Theory]
    [InlineData("clip-text", "last_hidden_state")]
    [InlineData("distilbert", "last_hidden_state")]
    [InlineData("modernbert", "last_hidden_state")]
    [InlineData("gemma", "logits")]
    [InlineData("gemma2", "logits")]
    [InlineData("gemma3", "logits")]
    [InlineData("granite", "logits")]
    [InlineData("mistral", "logits")]
    [InlineData("opt", "logits")]
    [InlineData("phi3", "logits")]
    [InlineData("qwen2", "logits")]
    [InlineData("qwen3", "logits")]
    public void OtherFamiliesTakeIdsAndLengths(string family, string output)
    {
        using var model = new ModelFolder(family);
        NDArray ids = model.Case("input_ids");
        model.Expect(output, model.Run(model.Block, ids, model.Lens), isPadded: true);
    }

    [Theory]
    [InlineData("bart")]
    [InlineData("marian")]
    [InlineData("mbart")]
    public void OtherTransformersTakeIdsOfBothSides(string family)
    {
        using var model = new ModelFolder(family);
        NDArray ids = model.Case("decoder_input_ids");
        model.Expect("logits", model.Run(model.Block, ids, model.Case("input_ids"), model.Lens), isPadded: false);
    }

    [Fact]
    public void AnEncoderOfImagesTakesPixels()
    {
        using var vit = new ModelFolder("vit");
        NDArray images = vit.Case("pixel_values");
        vit.Expect("last_hidden_state", vit.Run(vit.Block, images), isPadded: false);
        Assert.Equal(
            new[] { vit.Case("last_hidden_state").Shape }, vit.Block.GetOutputShapes(new[] { images.Shape }));
    }

    [Fact]
    public void ATransformerOfAudioTakesIdsAndFeatures()
    {
        using var whisper = new ModelFolder("whisper");
        NDArray ids = whisper.Case("decoder_input_ids");
        NDArray features = whisper.Case("input_features");
        whisper.Expect("logits", whisper.Run(whisper.Block, ids, features), isPadded: false);
        Assert.Equal(
            new[] { whisper.Case("logits").Shape }, whisper.Block.GetOutputShapes(new[] { ids.Shape, features.Shape }));
    }

    [Theory]
    [InlineData("llama")]
    [InlineData("gpt2")]
    public void ADecoderTakesIdsAndLengths(string family)
    {
        using var decoder = new ModelFolder(family);
        NDArray ids = decoder.Case("input_ids");
        NDArray found = decoder.Run(decoder.Block, ids, decoder.Lens);
        decoder.Expect("logits", found, isPadded: true);
        Assert.Equal(
            found.ToFloatArray(),
            decoder.Run(new AttentionInputs(ids) { SelfValidLens = decoder.Lens }).ToFloatArray());
        decoder.Expect("logits", decoder.Run(decoder.Block, ids), isPadded: true);
    }

    [Theory]
    [InlineData("llama")]
    [InlineData("gpt2")]
    public void ADecoderGoesOnStepByStepWithACache(string family)
    {
        using var decoder = new ModelFolder(family);
        using KvCache cache = decoder.NewCache(16);
        var inputs = new AttentionInputs { Cache = cache };
        decoder.ExpectPieces("decode.input_ids", ids =>
        {
            inputs.Queries = ids;
            return decoder.Run(inputs);
        });
        Assert.Equal(16, cache.Length(0));
        inputs.Queries = decoder.Case("decode.input_ids").Slice(1, 0, 1);
        Assert.Throws<CacheFullException>(() => decoder.Run(inputs));
    }

    [Fact]
    public void ATransformerTakesIdsOfBothSides()
    {
        using var t5 = new ModelFolder("t5");
        NDArray source = t5.Case("input_ids");
        NDArray ids = t5.Case("decoder_input_ids");
        NDArray found = t5.Run(t5.Block, ids, source, t5.Lens);
        t5.Expect("logits", found, isPadded: false);
        Assert.Equal(
            found.ToFloatArray(), t5.Run(new AttentionInputs(ids, source, validLens: t5.Lens)).ToFloatArray());
        Assert.NotEqual(found.ToFloatArray(), t5.Run(t5.Block, ids, source).ToFloatArray());

        // The encoder alone, and then the decoder with its output.
        NDArray memory = t5.Run(new AttentionInputs(keys: source, validLens: t5.Lens));
        t5.Expect("encoder.last_hidden_state", memory, isPadded: true);
        var decoding = new AttentionInputs(ids, validLens: t5.Lens) { Memory = memory };
        t5.Expect("logits", t5.Run(decoding), isPadded: false);
        Assert.Null(decoding.Clear().Memory);
    }

    [Fact]
    public void ATransformerKeepsTheMemoryInACache()
    {
        using var t5 = new ModelFolder("t5");
        NDArray source = t5.Case("input_ids");
        using KvCache memory = t5.NewCache(source.Shape[1]);
        using KvCache own = t5.NewCache(16);
        t5.Block.FillCache(new AttentionInputs(keys: source, validLens: t5.Lens) { Cache = memory });
        int[] lens = t5.Lens.ToIntArray();
        Assert.Equal(lens[1], memory.Length(1)); // Padding is not stored.
        var inputs = new AttentionInputs { Cache = own, MemoryCache = memory };
        t5.ExpectPieces("decode.decoder_input_ids", ids =>
        {
            inputs.Queries = ids;
            return t5.Run(inputs);
        });
        Assert.Equal(lens[1], memory.Length(1));

        // The same from the encoder's output; and batch elements that say which sequences they read.
        NDArray encoded = t5.Run(new AttentionInputs(keys: source, validLens: t5.Lens));
        using KvCache again = t5.NewCache(source.Shape[1]);
        t5.Block.FillCache(new AttentionInputs(validLens: t5.Lens) { Memory = encoded, Cache = again });
        NDArray ids = t5.Case("decoder_input_ids");
        inputs.Clear().Queries = ids;
        inputs.MemoryCache = again;
        t5.Expect("logits", t5.Run(inputs), isPadded: false);
        inputs.Queries = ids.Slice(0, 1, 1);
        inputs.MemorySequences = new long[] { 1 };
        TransformerScene.Near(
            t5.Run(t5.Block, ids, source, t5.Lens).Slice(0, 1, 1).ToFloatArray(), t5.Run(inputs).ToFloatArray());
        inputs.MemoryCacheLayer = 1; // The last layer would read a layer that the cache does not have.
        Assert.Contains(
            "is 1, from which on the cache has too few layers, 1: ",
            Assert.Throws<ArgumentException>(() => t5.Block.CreateOutputs(inputs)).Message);
        inputs.MemoryCache = null;
        Assert.Equal(
            "MemorySequences is set, but MemoryCache is null: expected a cache (Parameter 'MemoryCache')",
            Assert.Throws<ArgumentException>(() => t5.Block.CreateOutputs(inputs)).Message);
        inputs.MemorySequences = null;
        Assert.StartsWith(
            "MemoryCacheLayer is 1, but MemoryCache is null",
            Assert.Throws<ArgumentException>(() => t5.Block.CreateOutputs(inputs)).Message);
        Assert.Equal(0, inputs.Clear().MemoryCacheLayer);
    }

    [Fact]
    public void ACacheHasTheSizesOfTheBlock()
    {
        using var llama = new ModelFolder("llama");
        var options = new KvCacheOptions(llama.Block);
        Assert.Equal((2, 2, 8, 0, 0), (
            options.NumLayers, options.NumKvHeads, options.HeadSize, options.MaxSequences, options.Capacity));
        Assert.Equal(1, new KvCacheOptions((NativeBlock)llama.Block.Children["layers.1"]).NumLayers);
        using var bert = new ModelFolder("bert");
        Assert.Throws<NotSupportedException>(() => new KvCacheOptions(bert.Block));
        Assert.Throws<ArgumentNullException>(() => new KvCacheOptions(null!));
        NDArray ids = bert.Case("input_ids");
        using KvCache cache = llama.NewCache(16);
        Refused("Cache", "keeps no keys", () => bert.Block.FillCache(new AttentionInputs(ids) { Cache = cache }));
        Refused("Cache is null", "the cache that is filled", () => bert.Block.FillCache(new AttentionInputs(ids)));
    }

    /// <summary>They have the names of the blocks that a program makes itself.</summary>
    [Fact]
    public void PartsAreChildren()
    {
        using var t5 = new ModelFolder("t5");
        Assert.Equal(
            new[] { "embedding", "decoder_embedding", "encoder", "decoder", "output" }, t5.Block.Children.Keys);
        Assert.Equal($"ModelBlock({ModelFolder.Folder("t5")})", t5.Block.ToString());
        Block encoder = t5.Block.Children["encoder"];
        Assert.Equal(
            $"ModelBlock({ModelFolder.Folder("t5")}, encoder.layers.1)", encoder.Children["layers.1"].ToString());
        NDArray rows = t5.Run(t5.Block.Children["embedding"], t5.Case("input_ids"));
        t5.Expect("encoder.last_hidden_state", t5.Run(encoder, rows, t5.Lens), isPadded: true);
        Assert.Equal(
            rows.ToFloatArray(),
            t5.Run(t5.Block.Children["decoder_embedding"], t5.Case("input_ids")).ToFloatArray());
        NDArray target = t5.Run(t5.Block.Children["embedding"], t5.Case("decoder_input_ids"));
        NDArray decoded = t5.Run(
            t5.Block.Children["decoder"], target, t5.Case("encoder.last_hidden_state"), t5.Lens);
        t5.Expect("logits", t5.Run(t5.Block.Children["output"], decoded), isPadded: false);
        Assert.Contains("decoder.layers.0.cross_attention.W_q.weight", t5.Block.Parameters.Keys);

        using var bert = new ModelFolder("bert");
        Block attention = bert.Block.Children["layers.0"].Children["self_attention"];
        NDArray input = bert.Case("layer0.attention.input");
        bert.Expect("layer0.attention.output", bert.Run(attention, input, input, input, bert.Lens), isPadded: true);
        bert.Expect(
            "layer0.output", bert.Run(bert.Block.Children["layers.0"], bert.Case("hidden_states"), bert.Lens), true);
        Assert.Equal(
            new[]
            {
                "embedding", "token_type_embedding", "positions", "embedding_norm", "embedding_dropout", "layers.0",
                "layers.1",
            },
            bert.Block.Children.Keys);

        // Layers that are the same.
        using var albert = new ModelFolder("albert");
        Assert.Contains("layers.0.feed_forward.W_1.weight", albert.Block.Parameters.Keys);
        Assert.DoesNotContain("layers.1.feed_forward.W_1.weight", albert.Block.Parameters.Keys);
        Assert.Same(
            albert.Block.Children["layers.0"].Parameters["norm_1.weight"],
            albert.Block.Children["layers.1"].Parameters["norm_1.weight"]);
        albert.Expect(
            "last_hidden_state",
            albert.Run(albert.Block, albert.Case("input_ids"), albert.Lens, albert.Case("token_type_ids")),
            isPadded: true);
    }

    [Fact]
    public void ParametersAreReplacedAndSaved()
    {
        using var gpt2 = new ModelFolder("gpt2");
        NDArray ids = gpt2.Case("input_ids");
        float[] before = gpt2.Run(gpt2.Block, ids).ToFloatArray();
        Assert.True(gpt2.Block.IsInitialized);
        using var stream = new MemoryStream();
        gpt2.Block.Save(stream);
        using var parameters = new MemoryStream();
        gpt2.Block.SaveParameters(parameters);
        Parameter scale = gpt2.Block.Parameters["layers.0.norm_1.weight"];
        Assert.Equal(ParameterType.Gamma, scale.Type);
        scale.SetArray(gpt2.Manager.Zeros(scale.Shape!));
        Assert.NotEqual(before, gpt2.Run(gpt2.Block, ids).ToFloatArray());
        stream.Position = 0;
        gpt2.Block.Load(stream);
        Assert.Equal(before, gpt2.Run(gpt2.Block, ids).ToFloatArray());
        scale.SetArray(gpt2.Manager.Zeros(scale.Shape!));
        parameters.Position = 0;
        gpt2.Block.LoadParameters(gpt2.Manager, parameters);
        Assert.Equal(before, gpt2.Run(gpt2.Block, ids).ToFloatArray());

        gpt2.Block.Initialize(gpt2.Manager, DataType.Float32, ids.Shape);
        Assert.Equal(before, gpt2.Run(gpt2.Block, ids).ToFloatArray());
        Assert.Throws<ArgumentException>(() => gpt2.Block.Initialize(gpt2.Manager, DataType.Float16, ids.Shape));
        Assert.Contains(
            "expected neither Clear nor Cast", Assert.Throws<InvalidOperationException>(gpt2.Block.Clear).Message);
        Assert.Throws<InvalidOperationException>(() => gpt2.Block.Cast(DataType.Float16));

        // In the context of a manager with other options.
        using NDManager other = NDManager.NewBaseManager(Device.Cpu(), new ContextOptions { NumThreads = 1 });
        NDArray copy = other.Create(ids.ToLongArray(), ids.Shape);
        using var moved = new Model("gpt2");
        moved.Load(ModelFolder.Folder("gpt2"), other);
        Assert.Equal(before, moved.Block.Forward(gpt2.Store, new NDList(copy))[0].ToFloatArray());
    }

    [Fact]
    public void WrongInputsAreRefused()
    {
        using var llama = new ModelFolder("llama");
        NDArray Ids(params long[] numbers) => llama.Manager.Create(numbers, new Shape(1, numbers.Length));
        Refused("Queries", "40", () => llama.Run(llama.Block, Ids(3, 40)));
        Refused("Queries", "-1", () => llama.Run(llama.Block, Ids(-1)));
        Refused("Queries", "Float32", () => llama.Run(llama.Block, Ids(1).ToType(DataType.Float32)));
        Refused("Queries", "(2)", () => llama.Run(llama.Block, Ids(1, 2).Reshape(2)));
        Refused(
            "inputs has 3 arrays", "expected 1 or 2: ids and, optional, selfValidLens",
            () => llama.Run(llama.Block, Ids(1), null, null));
        Refused("TokenTypes", "null", () => llama.Run(new AttentionInputs(Ids(1)) { TokenTypes = Ids(0) }));
        Refused("Queries", "inputs", () => llama.Run(new AttentionInputs(keys: Ids(1))));

        using var bert = new ModelFolder("bert");
        NDArray ids = bert.Case("input_ids");
        NDArray Types(long value) => bert.Manager.Full(ids.Shape, value, DataType.Int64);
        Refused("TokenTypes", "2", () => bert.Run(bert.Block, ids, null, Types(2)));
        Refused("TokenTypes", "(2, 5)", () => bert.Run(bert.Block, ids, null, Types(0).Slice(1, 0, 5)));
        Refused("Memory", "null", () => bert.Run(new AttentionInputs(ids) { Memory = bert.Case("hidden_states") }));

        using var t5 = new ModelFolder("t5");
        NDArray source = t5.Case("input_ids");
        Refused("Keys is null", "Memory", () => t5.Run(new AttentionInputs(source)));
        Refused("inputs have no Queries", "Queries", () => t5.Run(new AttentionInputs()));
        Refused(
            "inputs has 1 array", "expected 2 or 3: decoderInput, encoderInput and, optional, validLens",
            () => t5.Run(t5.Block, source));
        Assert.Throws<ArgumentNullException>("encoderInput", () => t5.Run(t5.Block, source, null));
    }

    [Fact]
    public void FoldersThatAreNoModelsAreRefused()
    {
        using var model = new Model("none");
        using var folder = new TestFolder();
        HeedException error = Assert.Throws<HeedException>(() => model.Load(folder.Path));
        Assert.Equal(Status.IO, error.Status);
        Assert.Contains("config.json", error.Message);
        Assert.Equal(Status.IO, Assert.Throws<HeedException>(() => model.Load(folder["nowhere"])).Status);
        File.WriteAllText(folder["config.json"], "{\"model_type\": \"mamba\"}");
        Assert.Contains("mamba", Assert.Throws<NotSupportedException>(() => model.Load(folder.Path)).Message);
        File.WriteAllText(folder["config.json"], "{");
        Assert.Equal(Status.CorruptFile, Assert.Throws<HeedException>(() => model.Load(folder.Path)).Status);
        File.Copy(Path.Combine(ModelFolder.Folder("llama"), "config.json"), folder["config.json"], overwrite: true);
        Assert.Equal(Status.IO, Assert.Throws<HeedException>(() => model.Load(folder.Path)).Status);
        Assert.Throws<ArgumentNullException>("folder", () => model.Load(null!));
        Assert.Throws<ArgumentNullException>("name", () => new Model(null!));
        Assert.Equal(
            "the model \"none\" has no block: expected Load first",
            Assert.Throws<InvalidOperationException>(() => model.Block).Message);
        Assert.Equal("Model(none, not loaded)", model.ToString());

        // A failed call changes nothing; one that succeeds is the last.
        model.Load(ModelFolder.Folder("llama"));
        ModelBlock block = model.Block;
        Assert.Equal(
            "the model \"none\" has been loaded already: make another one",
            Assert.Throws<InvalidOperationException>(() => model.Load(folder["nowhere"])).Message);
        Assert.Same(block, model.Block);
        Assert.True(block.IsInitialized);
    }

    [Fact]
    public void AModelIsDisposedWithItsBlock()
    {
        using NDManager manager = NDManager.NewBaseManager();
        NDArray ids = manager.Create(new long[] { 1, 2 }, new Shape(1, 2));
        Model model = Loaded("llama");
        Assert.Equal("llama", model.Name);
        Assert.Equal($"Model(llama, ModelBlock({ModelFolder.Folder("llama")}))", model.ToString());
        ModelBlock block = model.Block;
        Block child = block.Children["layers.0"];
        block.Forward(new ParameterStore(), new NDList(ids));
        model.Dispose();
        model.Dispose();
        Assert.Throws<ObjectDisposedException>(() => block.Forward(new ParameterStore(), new NDList(ids)));
        Assert.Throws<ObjectDisposedException>(() => child.IsInitialized);
        Assert.Equal(
            "the model is closed",
            Assert.Throws<ObjectDisposedException>(() => model.Block).Message.Split('\n')[0].Trim());
        Assert.Throws<ObjectDisposedException>(() => model.Load(ModelFolder.Folder("gpt2")));
        Assert.EndsWith(", closed)", model.ToString());
    }

    private static Model Loaded(string family)
    {
        var model = new Model(family);
        model.Load(ModelFolder.Folder(family));
        return model;
    }

    private static void Refused(string name, string part, Action use)
    {
        string message = Assert.Throws<ArgumentException>(use).Message;
        Assert.Contains(name, message);
        Assert.Contains(part, message);
    }
}
