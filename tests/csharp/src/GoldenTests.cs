// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Every option and every input of the native blocks, compared with files of results of PyTorch and of the
/// formulas in 64 bits (tests/golden). The "heed_options" of each file are repeated here; it contains its
/// bounds.</summary>
public class GoldenTests
{
    private const Bias WithoutK = Bias.Q | Bias.V | Bias.O;
    private const Bias WithoutO = Bias.Q | Bias.K | Bias.V;

    /// <summary>A file, and the block with its options. Dot-product attention has no parameters to load.</summary>
    private static readonly Dictionary<string, Func<NativeBlock>> Files = new()
    {
        ["formula_rank3"] = () => new DotProductAttention(),
        ["formula_grouped"] = () => new DotProductAttention(new DotProductAttentionOptions()),
        ["formula_scale"] = () => new DotProductAttention(new DotProductAttentionOptions { Scale = -0.75f }),
        ["formula_soft_cap"] = () => new DotProductAttention(new DotProductAttentionOptions { SoftCap = 1.5f }),
        ["formula_causal_top_left"] =
            () => new DotProductAttention(new DotProductAttentionOptions { Causal = Causal.TopLeft }),
        ["formula_causal_mean"] = () => new DotProductAttention(
            new DotProductAttentionOptions { Causal = Causal.BottomRight, EmptyRows = EmptyRows.Mean }),
        ["formula_window"] = () => new DotProductAttention(
            new DotProductAttentionOptions { Window = Window.BottomRight, WindowLeft = 2, WindowRight = 1 }),
        ["formula_window_causal"] = () => new DotProductAttention(
            new DotProductAttentionOptions
            {
                Causal = Causal.BottomRight,
                Window = Window.TopLeft,
                WindowLeft = 3,
                WindowRight = -1,
            }),
        ["formula_everything"] = () => new DotProductAttention(
            new DotProductAttentionOptions
            {
                Scale = 0.7f,
                SoftCap = 2.5f,
                Causal = Causal.BottomRight,
                Window = Window.TopLeft,
                WindowLeft = 3,
                WindowRight = 2,
                EmptyRows = EmptyRows.Mean,
            }),
        ["teaching_d2l_java"] = () => new DotProductAttention(
            new DotProductAttentionOptions { Scale = 0.70710678f, EmptyRows = EmptyRows.Mean }),
        ["additive_lens"] = () => new AdditiveAttention(7),
        ["additive_mean"] = () => new AdditiveAttention(
            new AdditiveAttentionOptions { NumHiddens = 1, EmptyRows = EmptyRows.Mean }),
        ["additive_multi_head"] = () => new MultiHeadAttention(
            new MultiHeadAttentionOptions
            {
                NumHeads = 2,
                HeadSize = 3,
                ValueHeadSize = 2,
                OutputSize = 6,
                Biases = Bias.All,
                Scoring = Scoring.Additive,
            }),
        ["formula_multi_head"] = () => new MultiHeadAttention(
            new MultiHeadAttentionOptions
            {
                NumHeads = 4,
                NumKvHeads = 2,
                HeadSize = 3,
                ValueHeadSize = 2,
                OutputSize = 6,
                Biases = Bias.All,
                Scale = 0.4f,
                SoftCap = 3,
                Causal = Causal.BottomRight,
                EmptyRows = EmptyRows.Mean,
            }),
        ["formula_no_output"] = () => new MultiHeadAttention(
            new MultiHeadAttentionOptions
            {
                NumHeads = 2,
                NumKvHeads = 2,
                HeadSize = 3,
                ValueHeadSize = 5,
                OutputProjection = false,
                Biases = WithoutO,
            }),
        ["partial_biases"] = () => new MultiHeadAttention(
            new MultiHeadAttentionOptions { NumHiddens = 24, NumHeads = 3, Biases = WithoutK }),
        ["window"] = () => new MultiHeadAttention(
            new MultiHeadAttentionOptions
            {
                NumHiddens = 40,
                NumHeads = 5,
                Window = Window.TopLeft,
                WindowLeft = 2,
                WindowRight = 1,
            }),
        ["kdim_vdim"] = () => new MultiHeadAttention(32, 4, 0, true),
    };

    /// <summary>Files as frameworks write them, with their prefix and the block.</summary>
    private static readonly Dictionary<string, (string? Prefix, Func<NativeBlock> Make)> Weights = new()
    {
        ["pytorch"] = (null, () => new MultiHeadAttention(12, 3, 0, true)),
        ["pytorch_encoder"] = ("encoder.layers.1.self_attn", () => new MultiHeadAttention(12, 3, 0, true)),
        ["whisper"] = (
            "model.decoder.layers.1.encoder_attn",
            () => new MultiHeadAttention(
                new MultiHeadAttentionOptions { NumHiddens = 12, NumHeads = 3, Biases = WithoutK })),
        ["bert_self"] = (
            "bert.encoder.layer.1.attention.self",
            () => new MultiHeadAttention(
                new MultiHeadAttentionOptions
                {
                    NumHiddens = 12,
                    NumHeads = 3,
                    Biases = WithoutO,
                    OutputProjection = false,
                })),
        ["keras_grouped"] = (
            "attention",
            () => new MultiHeadAttention(
                new MultiHeadAttentionOptions
                {
                    NumHiddens = 12,
                    NumHeads = 4,
                    NumKvHeads = 2,
                    HeadSize = 3,
                    Biases = Bias.All,
                })),
        ["gpt2"] = (
            "h.1.attn",
            () => new MultiHeadAttention(
                new MultiHeadAttentionOptions
                {
                    NumHiddens = 12,
                    NumHeads = 3,
                    Biases = Bias.All,
                    Causal = Causal.TopLeft,
                })),
        ["d2l_java"] = ("01attention", () => new MultiHeadAttention(12, 3)),
        ["d2l_java_additive"] = ("01attention", () => new AdditiveAttention(5)),
    };

    public static IEnumerable<object[]> FileNames => Files.Keys.Select(name => new object[] { name });

    public static IEnumerable<object[]> WeightNames => Weights.Keys.Select(name => new object[] { name });

    [Theory]
    [MemberData(nameof(FileNames))]
    public void OptionsMeanWhatTheySay(string name)
    {
        using NDManager manager = NDManager.NewBaseManager();
        using NativeBlock block = Files[name]();
        string file = TestFiles.Golden(name);
        if (block is not DotProductAttention)
        {
            block.Load(file, "attention");
        }
        AttentionInputs inputs = InputsOf(manager, file);
        const Wanted All = Wanted.Output | Wanted.Weights | Wanted.LogSumExp;
        using AttentionOutputs outputs = block.CreateOutputs(inputs, All);
        block.Forward(inputs, outputs);
        AssertWithin(manager, file, "output", "bound", outputs.Output!);
        AssertWithin(manager, file, "weights", "weights_bound", outputs.Weights!);
        AssertWithin(manager, file, "log_sum_exp", "log_sum_exp_bound", outputs.LogSumExp!);

        // The list gives the same result if it can express the inputs.
        if (inputs.Mask is null && inputs.Bias is null)
        {
            var list = new NDList(inputs.Queries, inputs.Keys, inputs.Values, inputs.ValidLens);
            NDArray result = block.Forward(new ParameterStore(), list).SingletonOrThrow();
            Assert.Equal(outputs.Output!.ToFloatArray(), result.ToFloatArray());
            Assert.Equal(
                new[] { outputs.Output.Shape },
                block.GetOutputShapes(list.GetShapes()));
        }
    }

    [Theory]
    [MemberData(nameof(WeightNames))]
    public void WeightsOfFrameworksLoad(string name)
    {
        (string? prefix, Func<NativeBlock> make) = Weights[name];
        using NDManager manager = NDManager.NewBaseManager();
        using NativeBlock block = make();
        string file = TestFiles.Golden("weights/" + name);
        block.Load(file, prefix);
        float[] output = Forward(manager, block, file);

        // The same after loading from a stream, and after saving by heed to a stream and to a file.
        using NativeBlock fromStream = make();
        using (FileStream stream = File.OpenRead(file))
        {
            fromStream.Load(stream, prefix);
            Assert.Equal(stream.Length, stream.Position);
        }
        Assert.Equal(output, Forward(manager, fromStream, file));
        using var saved = new MemoryStream();
        block.Save(saved);
        using var folder = new TestFolder();
        block.Save(folder["weights"]);
        Assert.Equal(File.ReadAllBytes(folder["weights"]), saved.ToArray());
        saved.Position = 0;
        using NativeBlock copy = make();
        copy.Load(saved);
        Assert.Equal(output, Forward(manager, copy, file));
    }

    private static float[] Forward(NDManager manager, NativeBlock block, string file)
    {
        AttentionInputs inputs = InputsOf(manager, file);
        using AttentionOutputs outputs = block.CreateOutputs(inputs);
        Assert.Null(outputs.Weights);
        Assert.Null(outputs.LogSumExp);
        block.Forward(inputs, outputs);
        AssertWithin(manager, file, "output", "bound", outputs.Output!);
        return outputs.Output!.ToFloatArray();
    }

    private static AttentionInputs InputsOf(NDManager manager, string file)
    {
        NDArray? Find(string name)
        {
            try
            {
                return manager.Load(file, name);
            }
            catch (HeedException error) when (error.Status == Status.NotFound)
            {
                return null;
            }
        }
        return new AttentionInputs(Find("queries"), Find("keys"), Find("values"), Find("valid_lens"))
        {
            Mask = Find("mask"),
            Bias = Find("bias"),
        };
    }

    private static void AssertWithin(NDManager manager, string file, string expected, string bound, NDArray actual)
    {
        float[] actuals = actual.ToFloatArray();
        double[] expecteds = manager.Load(file, expected).ToDoubleArray();
        double[] bounds = manager.Load(file, bound).ToDoubleArray();
        Assert.Equal(expecteds.Length, actuals.Length);
        for (int i = 0; i < actuals.Length; i++)
        {
            bool isSame = actuals[i] == expecteds[i] || Math.Abs(actuals[i] - expecteds[i]) <= bounds[i];
            Assert.True(isSame, $"{expected} {i}: {actuals[i]} is not {expecteds[i]} within {bounds[i]}");
        }
    }
}
