// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Positional encodings of every kind, and the cells of d2l-java's notebook about them.</summary>
public sealed class PositionalEncodingTests : IDisposable
{
    /// <summary>Numbers with six decimals.</summary>
    private const float SixDecimals = 0.7e-6f;

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

    /// <summary>Position 3 of six elements, from the formulas.</summary>
    [Theory]
    [InlineData(
        PositionKind.Sinusoidal, new[] { 0.14112f, -0.989992f, 0.138798f, 0.990321f, 0.006463f, 0.999979f })]
    [InlineData(PositionKind.SinusoidalHalves, new[] { 0.14112f, 0.029996f, 0.0003f, -0.989992f, 0.99955f, 1 })]
    [InlineData(
        PositionKind.SinusoidalHalves2I, new[] { 0.14112f, 0.138798f, 0.006463f, -0.989992f, 0.990321f, 0.999979f })]
    public void KindsAreThoseOfTheFormulas(PositionKind kind, float[] expected)
    {
        using var encoding = new PositionalEncoding(
            new PositionalEncodingOptions { NumHiddens = 6, MaxLen = 10, Kind = kind });
        Assert.True(encoding.IsInitialized);
        Assert.Null(encoding.P);
        var inputs = new AttentionInputs(manager.Zeros(new Shape(1, 1, 6)))
        {
            Positions = manager.Create(new long[] { 3 }, new Shape(1, 1)),
        };
        using AttentionOutputs outputs = encoding.CreateOutputs(inputs);
        encoding.Forward(inputs, outputs);
        Assert.All(
            outputs.Output!.ToFloatArray().Zip(expected),
            pair => Assert.Equal(pair.Second, pair.First, SixDecimals));
    }

    [Fact]
    public void ALearnedTableIsAParameter()
    {
        using var encoding = new PositionalEncoding(new PositionalEncodingOptions
        {
            NumHiddens = 6, MaxLen = 10, Kind = PositionKind.Learned, FirstRow = 2,
        });
        Assert.False(encoding.IsInitialized);
        Assert.Equal(new[] { "weight" }, encoding.Parameters.Keys);
        encoding.Parameters["weight"].SetArray(manager.Arange(12f * 6).Reshape(12, 6));
        Refused("(12, 6)", () => encoding.Parameters["weight"].SetArray(manager.Ones(new Shape(10, 6))));
        NDArray x = manager.Ones(new Shape(2, 3, 6));
        float[] sums = encoding.Forward(ps, new NDList(x)).Head.ToFloatArray();
        Assert.Equal(Enumerable.Range(0, 36).Select(i => 1f + 2 * 6 + i % 18), sums);

        // Packed: each element counts from 0.
        var packed = new AttentionInputs(manager.Zeros(new Shape(4, 6)))
        {
            QueryOffsets = manager.Create(new[] { 0, 1, 4 }),
        };
        using AttentionOutputs outputs = encoding.CreateOutputs(packed);
        encoding.Forward(packed, outputs);
        Assert.Equal(
            new float[] { 12, 12, 18, 24 }, Enumerable.Range(0, 4).Select(row => outputs.Output!.GetFloat(row, 0)));
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

    [Fact]
    public void WrongOptionsAndInputsAreRefused()
    {
        PositionalEncoding Made(PositionKind kind, long numHiddens = 6, long firstRow = 0) =>
            new PositionalEncoding(new PositionalEncodingOptions
            {
                NumHiddens = numHiddens, MaxLen = 10, Kind = kind, FirstRow = firstRow,
            });
        Refused("NumHiddens is 0", () => new PositionalEncoding(0, 0, 10, manager));
        Refused("MaxLen is 0", () => new PositionalEncoding(6, 0, 0, manager));
        Refused("Dropout is 1", () => new PositionalEncoding(6, 1, 10, manager));
        Refused("FirstRow is 1", () => Made(PositionKind.Sinusoidal, firstRow: 1));
        Refused("NumHiddens is 5", () => Made(PositionKind.SinusoidalHalves, numHiddens: 5));
        Refused(
            "Kind is 4, expected PositionKind.Sinusoidal (0), PositionKind.SinusoidalHalves (1)",
            () => Made((PositionKind)4));
        Assert.Throws<ArgumentNullException>("manager", () => new PositionalEncoding(6, 0, 10, null!));
        Assert.Throws<ArgumentNullException>("options", () => new PositionalEncoding(null!));
        NDManager closed = TestDevice.NewManager();
        closed.Dispose();
        Assert.Throws<ObjectDisposedException>(() => new PositionalEncoding(6, 0, 10, closed));

        using var encoding = new PositionalEncoding(6, 0, 10, manager);
        Refused("MaxLen", () => encoding.Forward(ps, new NDList(manager.Ones(new Shape(1, 11, 6)))));
        Refused("(1, 10, 5)", () => encoding.Forward(ps, new NDList(manager.Ones(new Shape(1, 10, 5)))));
        Assert.Equal("PositionalEncoding(numHiddens=6, maxLen=10, kind=Sinusoidal, dropout=0)", encoding.ToString());
    }

    private static void Refused(string words, Action use) =>
        Assert.Contains(words, Assert.ThrowsAny<ArgumentException>(use).Message);
}
