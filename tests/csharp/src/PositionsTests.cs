// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Options and inputs of attention that depend on positions, and what packed batches give.</summary>
public sealed class PositionsTests : IDisposable
{
    /// <summary>The dot product of a vector of four elements with unit vectors differs from its elements by
    /// less.</summary>
    private const float Rounding = 4 * 4 * 1.2e-7f;

    private readonly NDManager manager = TestDevice.NewManager();

    public void Dispose() => manager.Dispose();

    /// <summary>Su et al.'s rotation of (1, 2, 3, 4) at position 3, computed in f64.</summary>
    [Fact]
    public void RotaryPositionsTurnThePairsOfTheirLayout()
    {
        Near(
            Rotated(new RopeOptions { Layout = RopeLayout.Interleaved }), -1.272233f, -1.838865f, 2.878668f, 4.088187f);
        Near(Rotated(new RopeOptions { Layout = RopeLayout.Half }), -1.413353f, 1.879118f, -2.828857f, 4.058191f);
        float[] linear = { -1.313227f, 1.969944f, 2.876705f, 4.014887f };
        Near(Rotated(Half(RopeScaling.Linear, factor: 4)), linear);

        // Frequencies that are all divided by 4.
        var factors = new[] { 4f, 4f };
        RopeOptions longrope = Half(RopeScaling.Factors);
        longrope.Factors = factors;
        longrope.AttentionFactor = 1;
        Near(Rotated(longrope), linear);

        // Only the last two elements, by the angle 3.
        var last = new RopeOptions { Layout = RopeLayout.Half, RotaryOffset = 2 };
        Near(Rotated(last), 1, 2, -3.534458f, -3.536610f);
        Assert.Equal(
            Rotated(last),
            Rotated(new RopeOptions { Layout = RopeLayout.Half, RotaryOffset = 2, RotarySize = 2, Base = 7 }));
        float[] usual = Rotated(new RopeOptions { Layout = RopeLayout.Half });
        Assert.Equal(usual, Rotated(new RopeOptions { Layout = RopeLayout.Half, Base = 10000 }));
        Assert.NotEqual(usual, Rotated(new RopeOptions { Layout = RopeLayout.Half, Base = 500000 }));

        // Every option of a scaling, and defaults that are given by number.
        RopeOptions yarn = Half(RopeScaling.Yarn, factor: 4, originalLength: 8);
        float[] before = Rotated(yarn);
        yarn.BetaFast = 32;
        yarn.BetaSlow = 1;
        Assert.Equal(before, Rotated(yarn));
        RopeOptions llama = Half(RopeScaling.Llama3, factor: 4, originalLength: 8);
        before = Rotated(llama);
        llama.LowFreqFactor = 1;
        llama.HighFreqFactor = 4;
        Assert.Equal(before, Rotated(llama));
    }

    /// <summary>Each option reaches its own member: C names the one that the scaling does not use.</summary>
    [Fact]
    public void OptionsOfRotaryPositionsAreNamed()
    {
        foreach ((string sentence, Action<RopeOptions> set) in new (string, Action<RopeOptions>)[]
        {
            ("Factor is set", rope => rope.Factor = 2),
            ("Factors is set", rope => rope.Factors = new[] { 2f, 2f }),
            ("OriginalLength is set", rope => rope.OriginalLength = 2),
            ("BetaFast is set", rope => rope.BetaFast = 2),
            ("BetaSlow is set", rope => rope.BetaSlow = 2),
            ("Rounding is false", rope => rope.Rounding = false),
            ("LowFreqFactor is set", rope => rope.LowFreqFactor = 2),
            ("HighFreqFactor is set", rope => rope.HighFreqFactor = 2),
        })
        {
            var rope = new RopeOptions { Layout = RopeLayout.Half };
            set(rope);
            Refused(sentence + ", but Scaling is RopeScaling.None", () => Attention(rope));
        }
        Refused(
            "Layout is 0, expected RopeLayout.Half (1) or RopeLayout.Interleaved (2)",
            () => Attention(new RopeOptions()));
        Refused(
            "Scaling is 6, expected RopeScaling.None (0), RopeScaling.Linear (1)",
            () => Attention(Half((RopeScaling)6)));
        Refused("RotarySize is 3", () => Attention(new RopeOptions { Layout = RopeLayout.Half, RotarySize = 3 }));
        Refused("RotaryOffset is 4", () => Attention(new RopeOptions { Layout = RopeLayout.Half, RotaryOffset = 4 }));
        Refused("Base is -1", () => Attention(new RopeOptions { Layout = RopeLayout.Half, Base = -1 }));
        RopeOptions wrong = Half(RopeScaling.Factors);
        wrong.AttentionFactor = 1;
        wrong.Factors = new float[] { 1, 1, 1 };
        Refused("the number of Factors is 3, expected one for each pair, RotarySize / 2 = 2", () => Attention(wrong));
        wrong.Factors = new[] { 1, float.NaN };
        Refused("Factors[1] is NaN", () => Attention(wrong));
    }

    /// <summary>A block's options do not change with the object that they came from. A block without values may be made
    /// again for another context.</summary>
    [Fact]
    public void RotaryPositionsAreCopied()
    {
        RopeOptions rope = Half(RopeScaling.Factors);
        rope.Factors = new float[] { 4, 4 };
        rope.AttentionFactor = 1;
        using MultiHeadAttention attention = Attention(rope);
        float[] before = Rotated(attention);
        using MultiHeadAttention other = Attention(rope);
        rope.Factors[0] = float.NaN;
        rope.Layout = 0;
        using NDManager elsewhere = NDManager.NewBaseManager(Device.Cpu(), new ContextOptions { NumThreads = 3 });
        other.Initialize(elsewhere, DataType.Float32, new Shape(1, 1, 4), new Shape(1, 1, 4), new Shape(1, 1, 4));
        Assert.Equal(before, Rotated(attention));
    }

    /// <summary>Scores 1 and 2, values 10 and 20, and a third score of 0.5 without a value.</summary>
    [Fact]
    public void SinksTakeAShareWithoutAValue()
    {
        var inputs = new AttentionInputs(
            manager.Ones(new Shape(1, 1, 1)),
            manager.Create(new float[] { 1, 2 }, new Shape(1, 2, 1)),
            manager.Create(new float[] { 10, 20 }, new Shape(1, 2, 1)))
        {
            Sinks = manager.Create(new[] { 0.5f }),
        };
        using var attention = new DotProductAttention(new DotProductAttentionOptions { Scale = 1 });
        using AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.Output | Wanted.LogSumExp);
        attention.Forward(inputs, outputs);
        Assert.Equal(14.882873f, outputs.Output!.GetFloat(0, 0, 0), 1e-5f);
        Assert.Equal(2.464369f, outputs.LogSumExp!.GetFloat(0, 0), 1e-6f);
        inputs.Sinks = null;
        attention.Forward(inputs, outputs);
        Assert.Equal(17.310586f, outputs.Output.GetFloat(0, 0, 0), 1e-5f);

        using MultiHeadAttention owner = Made(options => options.Sinks = true);
        Assert.Equal(new Shape(2), owner.Parameters["sinks"].Shape);
        var own = new AttentionInputs(manager.Ones(new Shape(1, 3, 8))) { Sinks = manager.Ones(new Shape(2)) };
        Refused("Sinks is set, but the block has the parameter sinks", () => Output(owner, own));
    }

    [Fact]
    public void OptionsAddTheirParameters()
    {
        void Adds(Action<MultiHeadAttentionOptions> set, params (string Name, Shape Shape)[] expected)
        {
            using MultiHeadAttention made = Made(set);
            Assert.Equal(expected, made.Parameters.Skip(4).Select(each => (each.Key, each.Value.Shape!)));
        }
        Adds(
            options => (options.NumKvHeads, options.QkNorm, options.QkNormEpsilon) = (1, QkNorm.Rms, 1e-6f),
            ("q_norm.weight", new Shape(4)), ("k_norm.weight", new Shape(4)));
        Adds(
            options => (options.NumKvHeads, options.QkNorm, options.QkNormEpsilon) = (1, QkNorm.Layer, 1e-6f),
            ("q_norm.weight", new Shape(2, 4)), ("k_norm.weight", new Shape(1, 4)));
        Adds(
            options => options.RelativeBias = RelativeBias.BothWays, ("relative_bias.weight", new Shape(32, 2)));
        Adds(
            options => (options.RelativeBias, options.RelativeBiasBuckets) = (RelativeBias.OneWay, 7),
            ("relative_bias.weight", new Shape(7, 2)));
        Refused(
            "RelativeBiasMaxDistance is 3",
            () => Made(options => (options.RelativeBias, options.RelativeBiasMaxDistance) = (RelativeBias.OneWay, 3)));
        Refused(
            "RelativeBiasBuckets is 7, but RelativeBias is RelativeBias.None",
            () => Made(options => options.RelativeBiasBuckets = 7));
        Refused(
            "QkNorm is QkNorm.Layer, but QkNormEpsilon is 0", () => Made(options => options.QkNorm = QkNorm.Layer));
        Refused(
            "QkNorm is 2, expected QkNorm.Rms (0) or QkNorm.Layer (1)",
            () => Made(options => options.QkNorm = (QkNorm)2));
        Refused(
            "Alibi is 3, expected Alibi.None (0), Alibi.Added (1) or Alibi.Scaled (2)",
            () => Made(options => options.Alibi = (Alibi)3));
        Refused(
            "RelativeBias is 3, expected RelativeBias.None (0), RelativeBias.BothWays (1) or RelativeBias.OneWay (2)",
            () => Made(options => options.RelativeBias = (RelativeBias)3));
    }

    /// <summary>The bias of the bucket of distance 0, of keys before the query and of those after it.</summary>
    [Fact]
    public void RelativeBiasReadsItsBuckets()
    {
        using MultiHeadAttention attention = Made(options => options.RelativeBias = RelativeBias.BothWays);
        var table = new float[32 * 2];
        table[2 * 1] = 1; // A key one before the query, head 0.
        table[2 * 17] = 2; // One behind it.
        attention.Parameters["relative_bias.weight"].Array.Set(table);
        var inputs = new AttentionInputs(manager.Zeros(new Shape(1, 2, 8)));
        using AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.LogSumExp);
        attention.Forward(inputs, outputs);
        float none = (float)Math.Log(2);
        Near(
            outputs.LogSumExp!.ToFloatArray(),
            (float)Math.Log(1 + Math.Exp(2)), (float)Math.Log(1 + Math.Exp(1)), none, none);
    }

    [Fact]
    public void AlibiAsAnOptionIsTheInputOfItsSlopes()
    {
        using MultiHeadAttention plain = Made(_ => { });
        using MultiHeadAttention attention = Made(options => options.Alibi = Alibi.Added);
        using MultiHeadAttention scaled = Made(options => options.Alibi = Alibi.Scaled);
        foreach (Pair<string, Parameter> parameter in plain.Parameters)
        {
            attention.Parameters[parameter.Key].SetArray(parameter.Value.Array);
            scaled.Parameters[parameter.Key].SetArray(parameter.Value.Array);
        }
        var inputs = new AttentionInputs(manager.RandomNormal(new Shape(2, 5, 8)));
        float[] own = Output(attention, inputs);
        Assert.NotEqual(own, Output(scaled, inputs));
        inputs.AlibiSlopes = AttentionInputs.CreateAlibiSlopes(manager, 2);
        Assert.Equal(Output(plain, inputs), own);
        Refused("AlibiSlopes is set, but the block has slopes of its own, by Alibi", () => Output(attention, inputs));
    }

    /// <summary>Packed, each alone, and padded with QueryLens: the same bits.</summary>
    [Fact]
    public void PackedRowsHaveTheBitsOfEachAlone()
    {
        int[] lens = { 3, 0, 1, 6 };
        int[] offsets = { 0, 3, 3, 4, 10 };
        using MultiHeadAttention attention = Made(options =>
        {
            options.Causal = Causal.BottomRight;
            options.Rope = new RopeOptions { Layout = RopeLayout.Half };
        });
        NDArray words = manager.RandomNormal(new Shape(10, 8));
        var packed = new AttentionInputs(words) { QueryOffsets = manager.Create(offsets) };
        using AttentionOutputs outputs = attention.CreateOutputs(packed, Wanted.Output | Wanted.LogSumExp);
        Assert.Equal(new Shape(10, 8), outputs.Output!.Shape);
        Assert.Equal(new Shape(2, 10), outputs.LogSumExp!.Shape);
        attention.Forward(packed, outputs);

        var padded = new float[4 * 6 * 8];
        for (int b = 0; b < lens.Length; b++)
        {
            words.Slice(0, offsets[b], lens[b]).ToFloatArray().CopyTo(padded, b * 6 * 8);
        }
        float[] ofPadded = Output(
            attention,
            new AttentionInputs(manager.Create(padded, new Shape(4, 6, 8))) { QueryLens = manager.Create(lens) });
        for (int b = 0; b < lens.Length; b++)
        {
            float[] found = outputs.Output.Slice(0, offsets[b], lens[b]).ToFloatArray();
            NDArray alone = words.Slice(0, offsets[b], lens[b]).ExpandDims(0);
            Assert.Equal(Output(attention, new AttentionInputs(alone)), found);
            float[] element = ofPadded.Skip(b * 6 * 8).Take(6 * 8).ToArray();
            Assert.Equal(found.Concat(new float[(6 - lens[b]) * 8]), element);
        }
        packed.Keys = manager.RandomNormal(new Shape(7, 8));
        Refused("KeyOffsets is null", () => Output(attention, packed));
        packed.KeyOffsets = manager.Create(new long[] { 0, 1, 2, 2, 7 });
        Assert.Equal(80, Output(attention, packed).Length);
        packed.ValidLens = manager.Create(lens);
        Refused(
            "ValidLens is set, but so is QueryOffsets, by which the batch is packed: expected null",
            () => Output(attention, packed));
    }

    /// <summary>Two calls with half of the queries each, at their positions, give what one call gives.</summary>
    [Fact]
    public void PositionsSayWhereQueriesStand()
    {
        NDArray x = manager.RandomNormal(new Shape(1, 6, 8));
        foreach (Causal causal in new[] { Causal.TopLeft, Causal.BottomRight })
        {
            using MultiHeadAttention attention = Made(options =>
            {
                options.Causal = causal;
                options.Alibi = Alibi.Added;
                options.Rope = new RopeOptions { Layout = RopeLayout.Interleaved };
            });
            float[] whole = Output(attention, new AttentionInputs(x));
            foreach (int first in new[] { 0, 3 })
            {
                float[] part = Output(attention, new AttentionInputs(x.Slice(1, first, 3), x)
                {
                    Positions = manager.Create(new[] { first, first + 1, first + 2 }, new Shape(1, 3)),
                });
                Assert.All(
                    part.Zip(whole.Skip(first * 8)), pair => Assert.Equal(pair.First, pair.Second, 1e-5f));
            }
            Refused(
                "Positions[0, 1] is -1, expected a position from 0 to 2147483647",
                () => Output(attention, new AttentionInputs(x.Slice(1, 0, 2))
                {
                    Positions = manager.Create(new[] { 0, -1 }, new Shape(1, 2)),
                }));
        }
    }

    /// <summary>Positions beyond a learned table, offsets that fall, and lengths beside offsets.</summary>
    [Fact]
    public void WrongRowsAreNamed()
    {
        using var table = new PositionalEncoding(new PositionalEncodingOptions
        {
            NumHiddens = 8, MaxLen = 3, Kind = PositionKind.Learned, FirstRow = 2,
        });
        table.Parameters["weight"].SetArray(manager.Ones(new Shape(5, 8)));
        var positions = new AttentionInputs(manager.Zeros(new Shape(1, 2, 8)))
        {
            Positions = manager.Create(new[] { 0, 3 }, new Shape(1, 2)),
        };
        Refused("Positions[0, 1] is 3, expected a position from 0 to 2", () => Output(table, positions));

        using MultiHeadAttention attention = Made(_ => { });
        var packed = new AttentionInputs(manager.Ones(new Shape(4, 8)))
        {
            QueryOffsets = manager.Create(new[] { 0, 3, 1, 4 }),
        };
        Refused(
            "QueryOffsets[2] is 1, below 3 before it: expected offsets that never fall",
            () => Output(attention, packed));
        packed.QueryOffsets = manager.Create(new[] { 0, 3, 4 });
        packed.QueryLens = manager.Create(new[] { 3, 1 });
        Refused("QueryLens is set, but so is QueryOffsets", () => Output(attention, packed));
    }

    private static RopeOptions Half(RopeScaling scaling, float factor = 0, long originalLength = 0) => new RopeOptions
    {
        Layout = RopeLayout.Half, Scaling = scaling, Factor = factor, OriginalLength = originalLength,
    };

    private static MultiHeadAttention Attention(RopeOptions rope) => new MultiHeadAttention(
        new MultiHeadAttentionOptions { NumHiddens = 4, NumHeads = 1, Scale = 1, Rope = rope });

    private static float[] Output(NativeBlock block, AttentionInputs inputs)
    {
        using AttentionOutputs outputs = block.CreateOutputs(inputs);
        block.Forward(inputs, outputs);
        return outputs.Output!.ToFloatArray();
    }

    private static void Near(float[] found, params float[] expected)
    {
        Assert.Equal(expected.Length, found.Length);
        Assert.All(found.Zip(expected), pair => Assert.Equal(pair.Second, pair.First, Rounding));
    }

    private static void Refused(string words, Action use) =>
        Assert.Contains(words, Assert.ThrowsAny<ArgumentException>(use).Message);

    /// <summary>An attention of two heads of four elements, with values for its parameters.</summary>
    private MultiHeadAttention Made(Action<MultiHeadAttentionOptions> set)
    {
        var options = new MultiHeadAttentionOptions { NumHiddens = 8, NumHeads = 2 };
        set(options);
        var attention = new MultiHeadAttention(options);
        var any = new Shape(1, 6, 8);
        attention.Initialize(manager, DataType.Float32, any, any, any);
        return attention;
    }

    private float[] Rotated(RopeOptions rope)
    {
        using MultiHeadAttention attention = Attention(rope);
        return Rotated(attention);
    }

    /// <summary>The vector (1, 2, 3, 4) at position 3: its scores with a unit vector at position 0 for each
    /// element.</summary>
    private float[] Rotated(MultiHeadAttention attention)
    {
        NDArray identity = manager.Create(
            Enumerable.Range(0, 16).Select(i => i % 5 == 0 ? 1f : 0).ToArray(), new Shape(4, 4));
        foreach (Parameter parameter in attention.Parameters.Values)
        {
            parameter.SetArray(identity);
        }
        var inputs = new AttentionInputs(
            manager.Create(new float[] { 1, 2, 3, 4 }, new Shape(1, 1, 4)).Repeat(0, 4), identity.Reshape(4, 1, 4))
        {
            Positions = manager.Create(new[] { 3, 3, 3, 3 }, new Shape(4, 1)),
        };
        using AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.LogSumExp);
        attention.Forward(inputs, outputs);
        return outputs.LogSumExp!.ToFloatArray();
    }
}
