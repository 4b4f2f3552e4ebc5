// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Keys that every query sees: the parameter bias_k, and a key that is 0.</summary>
public sealed class ConstantKeysTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();

    public void Dispose() => manager.Dispose();

    /// <summary>A query of 1 and a factor of ln 2, so that a key k has the weight 2^k: the input's key 1 with the value
    /// 7, bias_k 2 with the value 14, and the key 0 with the value 0.</summary>
    [Fact]
    public void ConstantKeysTakeTheirShares()
    {
        Attends(false, false, Inputs(), 7, 1);
        Attends(true, false, Inputs(), 35 / 3f, 1 / 3f, 2 / 3f);
        Attends(false, true, Inputs(), 14 / 3f, 2 / 3f, 1 / 3f);
        Attends(true, true, Inputs(), 10, 2 / 7f, 4 / 7f, 1 / 7f);
    }

    /// <summary>A query that sees no key of the inputs gives all weight to the constant keys.</summary>
    [Fact]
    public void NothingHidesConstantKeys()
    {
        AttentionInputs inputs = Inputs();
        inputs.ValidLens = manager.Create(new[] { 0 });
        Attends(true, true, inputs, 11.2f, 0, 0.8f, 0.2f);
    }

    [Fact]
    public void TheyHaveTheSizesOfTheHeadsOfKeysAndValues()
    {
        using var attention = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = 8, NumHeads = 4, NumKvHeads = 2, HeadSize = 3, ValueHeadSize = 5,
            AddBiasKv = true, AddZeroAttn = true,
        });
        NDArray x = manager.RandomNormal(new Shape(2, 6, 8));
        attention.Initialize(manager, DataType.Float32, x.Shape, x.Shape, x.Shape);
        Assert.Equal(
            new[] { ("bias_k", new Shape(6)), ("bias_v", new Shape(10)) },
            attention.Parameters.Skip(4).Select(each => (each.Key, each.Value.Shape!)));
        attention.KeepAttentionWeights = true;
        attention.Forward(new ParameterStore(), new NDList(x, x, x));
        Assert.Equal(new Shape(8, 6, 8), attention.Attention.AttentionWeights!.Shape);
    }

    /// <summary>PyTorch's parameters of both names, and its results in 64 bits, in which a mask hides keys.</summary>
    [Fact]
    public void TheyAreThoseOfPyTorch()
    {
        string file = TestFiles.Golden("torch_multi_head");
        var options = new MultiHeadAttentionOptions { NumHiddens = 6, NumHeads = 3, Biases = Bias.All };
        using (var without = new MultiHeadAttention(options))
        {
            Refused(
                "\"bias_kv.param.bias_k\", a parameter that this block's options lack: expected AddBiasKv",
                () => without.Load(file, "bias_kv.param"));
        }
        bool[] hidden = manager.Load(file, "bias_kv.input.key_padding_mask").ToBooleanArray();
        options.AddBiasKv = true;
        AsPyTorch("bias_kv", options, inputs => inputs.Mask = manager.Create(
            hidden.Select(isHidden => !isHidden).ToArray(), new Shape(2, 1, 1, 5)));
        (options.AddBiasKv, options.AddZeroAttn) = (false, true);
        AsPyTorch(
            "zero_attn", options, inputs => inputs.Bias = manager.Load(file, "zero_attn.input.attn_mask"));
    }

    [Fact]
    public void AdditiveScoringHasNone()
    {
        var options = new MultiHeadAttentionOptions
        {
            NumHiddens = 4, NumHeads = 2, Scoring = Scoring.Additive, AddZeroAttn = true,
        };
        Refused(
            "AddZeroAttn is true, but Scoring is Scoring.Additive: expected false",
            () => new MultiHeadAttention(options));
        options.AddBiasKv = true;
        Refused(
            "AddBiasKv is true, but Scoring is Scoring.Additive: expected false",
            () => new MultiHeadAttention(options));
    }

    private static void Refused(string words, Action use) =>
        Assert.Contains(words, Assert.ThrowsAny<ArgumentException>(use).Message);

    /// <summary>The tolerance: four sums of six products follow one another, and no number reaches 8.</summary>
    private static void Near(NDArray expected, NDArray found)
    {
        const float Ulp = 1f / (1 << 21);
        Assert.Equal(expected.Shape, found.Shape);
        double[] numbers = expected.ToDoubleArray();
        Assert.All(
            found.ToFloatArray().Zip(numbers), pair => Assert.Equal(pair.Second, (double)pair.First, 4 * 6 * Ulp));
    }

    private AttentionInputs Inputs()
    {
        NDArray one = manager.Ones(new Shape(1, 1, 1));
        return new AttentionInputs(one, one, manager.Create(new float[] { 7 }, one.Shape));
    }

    private void Attends(
        bool addBiasKv, bool addZeroAttn, AttentionInputs inputs, float output, params float[] weights)
    {
        using var attention = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = 1, NumHeads = 1, Scale = (float)Math.Log(2), AddBiasKv = addBiasKv, AddZeroAttn = addZeroAttn,
        });
        foreach (Pair<string, Parameter> parameter in attention.Parameters)
        {
            parameter.Value.SetArray(
                parameter.Key == "bias_k" ? manager.Create(new float[] { 2 })
                : parameter.Key == "bias_v" ? manager.Create(new float[] { 14 })
                : manager.Ones(new Shape(1, 1)));
        }
        using AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.Output | Wanted.Weights);
        attention.Forward(inputs, outputs);
        Assert.Equal(new Shape(1, 1, 1, weights.Length), outputs.Weights!.Shape);

        // 8 units in the last place of 1, and of numbers from 8 to 16.
        Assert.All(
            outputs.Weights.ToFloatArray().Zip(weights), pair => Assert.Equal(pair.Second, pair.First, 1e-6f));
        Assert.Equal(output, outputs.Output!.ToFloatArray().Single(), 8e-6f);
    }

    private void AsPyTorch(string name, MultiHeadAttentionOptions options, Action<AttentionInputs> mask)
    {
        string file = TestFiles.Golden("torch_multi_head");
        var inputs = new AttentionInputs(
            manager.Load(file, name + ".input.query"),
            manager.Load(file, name + ".input.key"),
            manager.Load(file, name + ".input.value"));
        mask(inputs);
        using var attention = new MultiHeadAttention(options);
        attention.Load(file, name + ".param");
        using AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.Output | Wanted.Weights);
        attention.Forward(inputs, outputs);
        Near(manager.Load(file, name + ".output"), outputs.Output!);
        Near(manager.Load(file, name + ".weights"), outputs.Weights!);
    }
}
