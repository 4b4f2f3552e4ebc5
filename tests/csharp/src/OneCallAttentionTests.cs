// SPDX-License-Identifier: Apache-2.0
using System;
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
