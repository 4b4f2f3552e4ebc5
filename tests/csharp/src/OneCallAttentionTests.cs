// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Attention without a block gives the same as a block.</summary>
public sealed class OneCallAttentionTests : IDisposable
{
    private const Wanted All = Wanted.Output | Wanted.Weights | Wanted.LogSumExp;
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly NDArray queries;
    private readonly NDArray keys;
    private readonly NDArray values;

    public OneCallAttentionTests()
    {
        queries = manager.RandomNormal(new Shape(2, 4, 8));
        keys = manager.RandomNormal(new Shape(2, 6, 8));
        values = manager.RandomNormal(new Shape(2, 6, 5));
    }

    public void Dispose() => manager.Dispose();

    [Fact]
    public void GivesTheSameAsABlock()
    {
        NDArray expected = new DotProductAttention().Forward(new ParameterStore(), new NDList(queries, keys, values)).Head;
        NDArray result = DotProductAttention.ScaledDotProductAttention(queries, keys, values);
        Assert.Equal(new Shape(2, 4, 5), result.Shape);
        Assert.Same(manager, result.Manager);
        Assert.Equal(expected.ToFloatArray(), result.ToFloatArray());
    }

    [Fact]
    public void TakesHeads() => Assert.Equal(
        new Shape(2, 4, 3, 5),
        DotProductAttention.ScaledDotProductAttention(
            manager.RandomNormal(new Shape(2, 4, 3, 8)),
            manager.RandomNormal(new Shape(2, 2, 6, 8)),
            manager.RandomNormal(new Shape(2, 2, 6, 5))).Shape);

    [Fact]
    public void TakesEveryInputOptionAndOutput()
    {
        var options = new DotProductAttentionOptions
        {
            Scale = 0.3f,
            SoftCap = 4,
            Dropout = 0.5f,
            Causal = Causal.BottomRight,
            Window = Window.BottomRight,
            WindowLeft = 3,
            EmptyRows = EmptyRows.Mean,
        };
        var inputs = new AttentionInputs(queries, keys, values, manager.Create(new[] { 3, 6 }))
        {
            Mask = manager.Ones(new Shape(1, 1, 4, 6), DataType.Boolean),
            Bias = manager.RandomNormal(new Shape(4, 6)),
            Training = true,
            DropoutSeed = 7,
        };
        using var block = new DotProductAttention(options);
        using AttentionOutputs expected = block.CreateOutputs(inputs, All);
        using AttentionOutputs outputs = block.CreateOutputs(inputs, All);
        block.Forward(inputs, expected);
        DotProductAttention.ScaledDotProductAttention(inputs, outputs, options);
        Assert.Equal(expected.Output!.ToFloatArray(), outputs.Output!.ToFloatArray());
        Assert.Equal(expected.Weights!.ToFloatArray(), outputs.Weights!.ToFloatArray());
        Assert.Equal(expected.LogSumExp!.ToFloatArray(), outputs.LogSumExp!.ToFloatArray());

        inputs.Training = false;
        using var plain = new DotProductAttention();
        plain.Forward(inputs, expected);
        DotProductAttention.ScaledDotProductAttention(inputs, outputs);
        Assert.Equal(expected.Output.ToFloatArray(), outputs.Output.ToFloatArray());
    }

    /// <summary>The same as a bias of -slope * |position of the query - position of the key|.</summary>
    [Fact]
    public void TakesTheSlopesOfAlibi()
    {
        float[] slopes = { 0.0625f, 0.00390625f, 0.25f };
        Assert.Equal(slopes, AttentionInputs.CreateAlibiSlopes(manager, 3).ToFloatArray());
        Assert.Throws<ArgumentNullException>(() => AttentionInputs.CreateAlibiSlopes(null!, 3));
        Assert.ThrowsAny<ArgumentException>(() => AttentionInputs.CreateAlibiSlopes(manager, -1));
        float[] bias = Enumerable.Range(0, 3 * 4 * 6)
            .Select(i => -slopes[i / 24] * Math.Abs(6 - 4 + (i / 6 % 4) - (i % 6))).ToArray();
        var inputs = new AttentionInputs(
            manager.RandomNormal(new Shape(2, 3, 4, 8)), manager.RandomNormal(new Shape(2, 3, 6, 8)))
        {
            Bias = manager.Create(bias, new Shape(1, 3, 4, 6)),
        };
        using var outputs = new AttentionOutputs(manager.Zeros(new Shape(2, 3, 4, 8)));
        DotProductAttention.ScaledDotProductAttention(inputs, outputs);
        float[] expected = outputs.Output!.ToFloatArray();
        inputs.Bias = null;
        inputs.AlibiSlopes = AttentionInputs.CreateAlibiSlopes(manager, 3);
        DotProductAttention.ScaledDotProductAttention(inputs, outputs);

        // On an NPU the call with a bias computes in Float16; the call with slopes runs on the CPU. Scores are at most 12, so
        // Float16 rounds them by at most 12 * 2^-11 = 0.006. That changes each weight by at most 1.2 %, and an output, a mean
        // of values up to 4, by at most 0.05.
        float bound = TestDevice.IsCpu ? 1e-6f : 5e-2f;
        Assert.All(expected.Zip(outputs.Output.ToFloatArray()), pair => Assert.Equal(pair.First, pair.Second, bound));
        inputs.AlibiSlopes = manager.Ones(new Shape(2));
        ArgumentException error = Assert.ThrowsAny<ArgumentException>(
            () => DotProductAttention.ScaledDotProductAttention(inputs, outputs));
        Assert.StartsWith(
            "AlibiSlopes has shape (2), expected (3), one slope for each head", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void RefusesTheSameAsABlock()
    {
        ArgumentException error = Assert.ThrowsAny<ArgumentException>(
            () => DotProductAttention.ScaledDotProductAttention(queries, values, values));
        Assert.Contains("Keys has shape (2, 6, 5)", error.Message, StringComparison.Ordinal);
        Assert.ThrowsAny<ArgumentException>(
            () => DotProductAttention.ScaledDotProductAttention(manager.Ones(new Shape()), keys, values));
        Assert.Throws<ArgumentNullException>(
            () => DotProductAttention.ScaledDotProductAttention(queries, null!, values));
        var inputs = new AttentionInputs(queries) { Training = true };
        using var outputs = new AttentionOutputs(manager.Zeros(queries.Shape));
        error = Assert.ThrowsAny<ArgumentException>(
            () => DotProductAttention.ScaledDotProductAttention(inputs, outputs));
        Assert.Contains("no DropoutSeed", error.Message, StringComparison.Ordinal);
        inputs.DropoutSeed = 0;
        DotProductAttention.ScaledDotProductAttention(inputs, outputs);
        keys.Dispose();
        Assert.Throws<ObjectDisposedException>(
            () => DotProductAttention.ScaledDotProductAttention(queries, keys, values));
    }
}
