// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>The cells of d2l-java's notebook about positional encodings, and dropout.</summary>
public sealed class PositionalEncodingTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly ParameterStore ps;

    public PositionalEncodingTests()
    {
        ps = new ParameterStore(manager, false);
    }

    public void Dispose() => manager.Dispose();

    /// <summary>Line by line the cells of "Self-Attention and Positional Encoding", up to the calls that draw.</summary>
    [Fact]
    public void NotebookProgram()
    {
        int encodingDim = 32;
        int numSteps = 60;
        PositionalEncoding posEncoding = new PositionalEncoding(encodingDim, 0, 1000, manager);
        NDArray x = posEncoding.Forward(
            ps, new NDList(manager.Zeros(new Shape(1, numSteps, encodingDim))), false)[0];
        NDArray p = posEncoding.P!.Slice(1, 0, x.Shape[1]);
        float[][] plotted = Enumerable.Range(6, 4).Select(column => p[0].Slice(1, column, 1).ToFloatArray()).ToArray();

        Assert.Equal(new Shape(1, 1000, 32), posEncoding.P.Shape);
        Assert.Same(manager, posEncoding.P.Manager);
        Assert.Equal(p.ToFloatArray(), x.ToFloatArray());
        for (int i = 0; i < 4; i++)
        {
            Assert.Equal(numSteps, plotted[i].Length);
            for (int position = 0; position < numSteps; position++)
            {
                double angle = position / Math.Pow(10000, (i < 2 ? 6 : 8) / 32.0);
                float expected = (float)(i % 2 == 0 ? Math.Sin(angle) : Math.Cos(angle));
                Assert.Equal(expected, plotted[i][position], 6e-8f); // One rounding of a number up to 1.
            }
        }
    }

    [Fact]
    public void DropoutDropsWhenTraining()
    {
        using var encoding = new PositionalEncoding(32, 0.5f, 100, manager);
        NDArray x = manager.Ones(new Shape(1, 100, 32));
        encoding.SetSeed(3);
        float[] trained = encoding.Forward(ps, new NDList(x), training: true).Head.ToFloatArray();
        float[] whole = encoding.Forward(ps, new NDList(x)).Head.ToFloatArray();

        // Each of 3200 elements is dropped with probability 0.5: within six standard deviations.
        Assert.Equal(1600, trained.Count(number => number == 0), 6 * Math.Sqrt(3200 * 0.25));
        Assert.All(
            trained.Zip(whole),
            pair => Assert.True(pair.First == 0 || Math.Abs(pair.First - 2 * pair.Second) <= 5e-7f));
        encoding.SetSeed(3);
        Assert.Equal(trained, encoding.Forward(ps, new NDList(x), training: true).Head.ToFloatArray());
    }
}
