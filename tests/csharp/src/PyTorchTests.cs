// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

namespace Heed.Tests;

/// <summary>Results compared with PyTorch's, each within the bound in its file.</summary>
public class PyTorchTests
{
    [Fact]
    public void D2lSizesWithLengths()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var attention = new MultiHeadAttention(100, 5, 0.5f, false);
        string file = TestFiles.Golden("d2l");
        attention.Load(file, "attention");
        NDList inputs = Inputs(manager, file);
        var ps = new ParameterStore(manager, false);

        NDArray output = attention.Forward(ps, inputs).SingletonOrThrow();
        Assert.Equal(new Shape(2, 4, 100), output.Shape);
        AssertWithin(manager, file, "output", "bound", output);
        Assert.Equal(new Shape(10, 4, 6), attention.Attention.AttentionWeights!.Shape);
        AssertWithin(manager, file, "weights", "weights_bound", attention.Attention.AttentionWeights);

        attention.KeepAttentionWeights = false;
        Assert.Equal(output.ToFloatArray(), attention.Forward(ps, inputs).SingletonOrThrow().ToFloatArray());
        Assert.Null(attention.Attention.AttentionWeights);
    }

    [Fact]
    public void Biases()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var attention = new MultiHeadAttention(100, 5, 0, true);
        string file = TestFiles.Golden("pytorch_bias");
        attention.Load(file, "attention");
        NDList result = attention.Forward(new ParameterStore(), Inputs(manager, file), training: false);
        AssertWithin(manager, file, "output", "bound", result.Head);
    }

    private static NDList Inputs(NDManager manager, string file) => new NDList(
        manager.Load(file, "queries"),
        manager.Load(file, "keys"),
        manager.Load(file, "values"),
        manager.Load(file, "valid_lens"));

    private static void AssertWithin(NDManager manager, string file, string expected, string bound, NDArray actual)
    {
        float[] actuals = actual.ToFloatArray();
        double[] expecteds = manager.Load(file, expected).ToDoubleArray();
        double[] bounds = manager.Load(file, bound).ToDoubleArray();
        Assert.Equal(expecteds.Length, actuals.Length);
        for (int i = 0; i < actuals.Length; i++)
        {
            double difference = Math.Abs(actuals[i] - expecteds[i]);
            Assert.True(difference <= bounds[i], $"{expected} {i}: {difference} > {bounds[i]}");
        }
    }
}
