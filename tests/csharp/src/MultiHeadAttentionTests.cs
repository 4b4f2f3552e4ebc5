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
    public void AttentionWeightsSumToOne()
    {
        MultiHeadAttention attention = Initialized(0, false);
        attention.Forward(ps, Ramps(true));
        float[] numbers = attention.Attention.AttentionWeights!.ToFloatArray();
        for (int row = 0; row < 40; row++)
        {
            double sum = numbers.Skip(6 * row).Take(6).Sum(number => (double)number);

            // Six numbers, each rounded in its division, by a sum that is rounded once for each term.
            Assert.Equal(1, sum, 12 * (MathF.BitIncrement(1) - 1));
        }
    }

    [Fact]
    public void LengthsMayBeMissingOrNull()
    {
        MultiHeadAttention attention = Initialized(0, false);
        NDList three = Ramps(false);
        NDList withNull = new NDList(three[0], three[1], three[2], null);
        NDList all = new NDList(three[0], three[1], three[2], manager.Create(new[] { 6, 6 }));
        float[] expected = Forward(attention, all);
        Assert.Equal(expected, Forward(attention, three));
        Assert.Equal(expected, Forward(attention, withNull));
        Assert.NotEqual(expected, Forward(attention, Ramps(true)));

        var other = new MultiHeadAttention(100, 5);
        other.Initialize(manager, DataType.Float32, withNull.GetShapes());
        Assert.True(other.IsInitialized);
    }

    [Fact]
    public void LengthsMayBeOfThreeTypesAndForEachQuery()
    {
        MultiHeadAttention attention = Initialized(0, false);
        NDList three = Ramps(false);
        float[] expected = Forward(attention, Ramps(true));
        foreach (NDArray lengths in new[]
        {
            manager.Create(new float[] { 3, 2 }),
            manager.Create(new[] { 3, 2 }),
            manager.Create(new long[] { 3, 2 }),
            manager.Create(new[] { 3, 3, 3, 3, 2, 2, 2, 2 }, new Shape(2, 4)),
        })
        {
            Assert.Equal(expected, Forward(attention, new NDList(three[0], three[1], three[2], lengths)));
        }
    }

    [Fact]
    public void ComputesInEachFloatType()
    {
        foreach (DataType type in new[] { DataType.Float32, DataType.Float16, DataType.BFloat16 })
        {
            NDArray x = manager.Ones(new Shape(1, 2, 8), type);
            NDList inputs = new NDList(x, x, x);
            MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, true);
            attention.Initialize(manager, type, inputs.GetShapes());
            NDArray output = attention.Forward(ps, inputs).Head;
            Assert.Equal(type, output.DataType);
            Assert.Equal(16, output.ToFloatArray().Length);
        }
    }

    [Fact]
    public void DropoutIsFreshInEachForwardAndRepeatsWithItsSeed()
    {
        MultiHeadAttention attention = Initialized(0.5f, false);
        NDList inputs = Ramps(true);
        float[] inference = Forward(attention, inputs);
        attention.SetSeed(7);
        float[] first = Forward(attention, inputs, true);
        float[] second = Forward(attention, inputs, true);
        Assert.NotEqual(inference, first);
        Assert.NotEqual(first, second);
        Assert.Equal(inference, Forward(attention, inputs));

        attention.SetSeed(7);
        Assert.Equal(first, Forward(attention, inputs, true));
        Assert.Equal(second, Forward(attention, inputs, true));

        MultiHeadAttention without = Initialized(0, false);
        Assert.Equal(Forward(without, inputs), Forward(without, inputs, true));
    }

    [Fact]
    public void ParametersRepeatWithTheirSeed()
    {
        float[][] outputs = new long[] { 7, 7, 8 }.Select(seed =>
        {
            var attention = new MultiHeadAttention(100, 5, 0, false);
            attention.SetSeed(seed);
            attention.Initialize(manager, DataType.Float32, Ramps(false).GetShapes());
            return Forward(attention, Ramps(false));
        }).ToArray();
        Assert.Equal(outputs[0], outputs[1]);
        Assert.NotEqual(outputs[0], outputs[2]);

        // Without a seed each block has different parameters.
        Assert.NotEqual(Forward(Initialized(0, false), Ramps(false)), Forward(Initialized(0, false), Ramps(false)));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void SavesAndLoads(bool useBias)
    {
        using var folder = new TestFolder();
        MultiHeadAttention attention = Initialized(0, useBias);
        attention.Save(folder["weights"]);
        float[] expected = Forward(attention, Ramps(true));
        foreach (string? prefix in new[] { null, string.Empty })
        {
            using var copy = new MultiHeadAttention(100, 5, 0, useBias);
            Assert.False(copy.IsInitialized);
            copy.Load(folder["weights"], prefix);
            Assert.True(copy.IsInitialized);
            Assert.Equal(expected, Forward(copy, Ramps(true)));
        }
    }

    [Fact]
    public void InitializeKeepsParametersThatAreThere()
    {
        var attention = new MultiHeadAttention(100, 5, 0, false);
        attention.Load(TestFiles.Golden("d2l"), "attention");
        float[] expected = Forward(attention, Ramps(true));
        attention.Initialize(manager, DataType.Float32, Ramps(true).GetShapes());
        Assert.Equal(expected, Forward(attention, Ramps(true)));
        var other = new Shape(2, 4, 50);
        Assert.Throws<ArgumentException>(() => attention.Initialize(manager, DataType.Float32, other, other, other));
        Assert.Equal(expected, Forward(attention, Ramps(true)));
    }

    [Fact]
    public void ParametersBelongToTheManagerOfInitialize()
    {
        NDManager first = manager.NewSubManager();
        var attention = new MultiHeadAttention(100, 5, 0, false);
        attention.Initialize(first, DataType.Float32, Ramps(true).GetShapes());
        first.Dispose();
        Assert.Contains(
            "the block, or the manager that it was initialized with, is closed",
            Assert.Throws<ObjectDisposedException>(() => attention.Forward(ps, Ramps(true))).Message);
        attention.Initialize(manager, DataType.Float32, Ramps(true).GetShapes());
        Assert.Equal(800, Forward(attention, Ramps(true)).Length);
    }

    [Fact]
    public void KeepsTheWeightsOfTheLastForward()
    {
        MultiHeadAttention attention = Initialized(0, false);
        Assert.True(attention.KeepAttentionWeights);
        Assert.Null(attention.Attention.AttentionWeights);
        Forward(attention, Ramps(true));
        NDArray first = attention.Attention.AttentionWeights!;
        float[] firstWeights = first.ToFloatArray();
        Forward(attention, Ramps(false));
        Assert.Throws<ObjectDisposedException>(() => first.Size);
        Assert.NotEqual(firstWeights, attention.Attention.AttentionWeights!.ToFloatArray());

        float[] kept = Forward(attention, Ramps(true));
        NDArray last = attention.Attention.AttentionWeights!;
        attention.KeepAttentionWeights = false;
        Assert.Throws<ObjectDisposedException>(() => last.Size);
        Assert.Null(attention.Attention.AttentionWeights);
        Assert.Equal(kept, Forward(attention, Ramps(true)));
        Assert.Null(attention.Attention.AttentionWeights);
        attention.KeepAttentionWeights = true;
        Forward(attention, Ramps(true));
        Assert.NotNull(attention.Attention.AttentionWeights);
    }

    [Fact]
    public void InitializeRefusesAnotherTypeThanThatOfTheParameters()
    {
        MultiHeadAttention attention = Initialized(0, true);
        float[] expected = Forward(attention, Ramps(true));
        Assert.Contains(
            "dataType is Float16, but the block has parameters of Float32 already",
            Assert.Throws<ArgumentException>(
                () => attention.Initialize(manager, DataType.Float16, Ramps(true).GetShapes())).Message);
        Assert.Equal(expected, Forward(attention, Ramps(true)));
    }

    [Fact]
    public void CanBeInitializedAgainAfterItsManagerIsDisposed()
    {
        var attention = new MultiHeadAttention(100, 5, 0, false);
        foreach (DataType type in new[] { DataType.Float16, DataType.Float32 })
        {
            using (NDManager owner = manager.NewSubManager())
            {
                attention.Initialize(owner, type, Ramps(true).GetShapes());
                Assert.True(attention.IsInitialized);
            }
            Assert.False(attention.IsInitialized);
        }
        Assert.Throws<HeedException>(() => attention.Load(TestFiles.Golden("d2l"), "nobody"));
        Assert.False(attention.IsInitialized);
        attention.Load(TestFiles.Golden("d2l"), "attention");
        Assert.True(attention.IsInitialized);
        Assert.Equal(800, Forward(attention, Ramps(true)).Length);

        MultiHeadAttention disposed = Initialized(0, false);
        disposed.Dispose();
        Assert.Throws<ObjectDisposedException>(() => disposed.Load(TestFiles.Golden("d2l"), "attention"));
    }

    [Fact]
    public void AcceptsEmptyInputs()
    {
        MultiHeadAttention attention = Initialized(0, false);
        foreach ((long b, long q, long k) in new[] { (0L, 4L, 6L), (2L, 0L, 6L), (2L, 4L, 0L) })
        {
            NDArray x = manager.Ones(new Shape(b, q, 100));
            NDArray y = manager.Ones(new Shape(b, k, 100));
            Assert.Equal(x.Shape, attention.Forward(ps, new NDList(x, y, y)).Head.Shape);
            Assert.Equal(new Shape(b * 5, q, k), attention.Attention.AttentionWeights!.Shape);
        }
    }

    [Fact]
    public void ServesManyThreads()
    {
        MultiHeadAttention attention = Initialized(0, false);
        NDList inputs = Ramps(true);
        float[] expected = Forward(attention, inputs);
        Parallel.For(0, 200, new ParallelOptions { MaxDegreeOfParallelism = 4 }, _ =>
            Assert.Equal(expected, Forward(attention, inputs)));
        Assert.Equal(240, attention.Attention.AttentionWeights!.Size);
    }

    [Fact]
    public void HasAText()
    {
        Assert.Equal(
            "MultiHeadAttention(numHiddens=100, numHeads=5, useBias=True, dropout=0.5)",
            new MultiHeadAttention(100, 5, 0.5f, true).ToString());
    }

    private MultiHeadAttention Initialized(float dropout, bool useBias)
    {
        var attention = new MultiHeadAttention(100, 5, dropout, useBias);
        attention.Initialize(manager, DataType.Float32, Ramps(true).GetShapes());
        return attention;
    }

    /// <summary>Queries (2, 4, 100), keys and values (2, 6, 100), and lengths 3 and 2.</summary>
    private NDList Ramps(bool withLengths)
    {
        NDArray queries = Ramp(new Shape(2, 4, 100), 1);
        NDArray keys = Ramp(new Shape(2, 6, 100), 2);
        NDArray values = Ramp(new Shape(2, 6, 100), 3);
        return withLengths
            ? new NDList(queries, keys, values, manager.Create(new float[] { 3, 2 }))
            : new NDList(queries, keys, values);
    }

    private NDArray Ramp(Shape shape, int phase) => manager.Create(
        Enumerable.Range(0, (int)shape.Size).Select(i => (float)Math.Sin((0.37 * i) + phase)).ToArray(), shape);

    private float[] Forward(MultiHeadAttention attention, NDList inputs, bool training = false) =>
        attention.Forward(ps, inputs, training).SingletonOrThrow().ToFloatArray();
}
