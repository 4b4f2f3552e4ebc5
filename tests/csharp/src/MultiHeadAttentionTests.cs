// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Threading.Tasks;
using Xunit;

namespace Heed.Tests;

public sealed class MultiHeadAttentionTests : IDisposable
{
    private readonly NDManager manager;
    private readonly ParameterStore ps;

    public MultiHeadAttentionTests()
    {
        manager = TestDevice.NewManager();
        ps = new ParameterStore(manager, false);
    }

    public void Dispose() => manager.Dispose();

    [Fact]
    public void RunsTheD2lProgram()
    {
        int numHiddens = 100;
        int numHeads = 5;
        MultiHeadAttention attention = new MultiHeadAttention(numHiddens, numHeads, 0.5f, false);
        int batchSize = 2;
        int numQueries = 4;
        int numKvpairs = 6;
        NDArray validLens = manager.Create(new float[] { 3, 2 });
        NDArray X = manager.Ones(new Shape(batchSize, numQueries, numHiddens));
        NDArray Y = manager.Ones(new Shape(batchSize, numKvpairs, numHiddens));
        NDList input = new NDList(X, Y, Y, validLens);
        attention.Initialize(manager, DataType.Float32, input.GetShapes());
        NDList result = attention.Forward(ps, input, training: false);
        Assert.Equal("(2, 4, 100)", result[0].Shape.ToString());
        Assert.Single(result);
        Assert.Same(manager, result.Head.Manager);
        Assert.Same(manager, ps.Manager);

        // d2l keeps the attention weights: each row sums to 1, and all visible keys have equal weights, since all keys
        // are equal.
        NDArray weights = attention.Attention.AttentionWeights!;
        Assert.Equal(new Shape(10, 4, 6), weights.Shape);
        float[] numbers = weights.ToFloatArray();
        for (int row = 0; row < 40; row++)
        {
            int visible = row < 20 ? 3 : 2;
            for (int key = 0; key < 6; key++)
            {
                float expected = key < visible ? 1f / visible : 0;
                Assert.Equal(expected, numbers[(6 * row) + key], MathF.BitIncrement(expected) - expected);
            }
        }
    }

    [Fact]
    public void ServesManyThreads()
    {
        using var attention = new MultiHeadAttention(100, 5);
        NDArray x = manager.RandomNormal(new Shape(2, 4, 100));
        NDArray y = manager.RandomNormal(new Shape(2, 6, 100));
        var inputs = new NDList(x, y, y, manager.Create(new float[] { 3, 2 }));
        attention.Initialize(manager, DataType.Float32, inputs.GetShapes());
        float[] Output() => attention.Forward(ps, inputs).SingletonOrThrow().ToFloatArray();
        float[] expected = Output();
        Parallel.For(0, 200, new ParallelOptions { MaxDegreeOfParallelism = 4 }, _ => Assert.Equal(expected, Output()));
        Assert.Equal(240, attention.Attention.AttentionWeights!.Size);
    }
}
