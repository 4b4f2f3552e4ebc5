// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Gradients of heed's own blocks under a tape.</summary>
[Trait(TestDevice.Trait, "cpu")]
public sealed class BlockGradientTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void ALinearLayerHasTheGradientsOfItsProduct()
    {
        using Linear linear = new Linear(4);
        linear.Initialize(manager, DataType.Float32, new Shape(5, 3));
        using NDArray x = Numbers(5, 3);
        using NDArray weights = Numbers(5, 4);
        x.RequiresGradient = true;
        using (GradientTape tape = manager.NewGradientTape())
        {
            NDArray output = linear.Forward(x).SingletonOrThrow();
            tape.Backward((output * weights).Sum());
        }
        Parameter weight = linear.Parameters["weight"];
        Parameter bias = linear.Parameters["bias"];
        AssertClose(weights.Transpose().MatMul(x), weight.Gradient);
        AssertClose(weights.Sum(new[] { 0 }), bias.Gradient);
        AssertClose(weights.MatMul(weight.Array), x.Gradient);
    }

    [Fact]
    public void GradientsOfAttentionAreThoseOfItsParts()
    {
        using var attention = new MultiHeadAttention(8, 2);
        using NDArray x = Numbers(2, 3, 8);
        using NDArray lens = manager.Create(new[] { 3f, 2f });
        attention.Initialize(manager, DataType.Float32, x.Shape, x.Shape, x.Shape, lens.Shape);
        using NDArray weights = Numbers(2, 3, 8);
        x.RequiresGradient = true;
        using (GradientTape tape = manager.NewGradientTape())
        {
            tape.Backward((attention.Forward(x, x, x, lens).SingletonOrThrow() * weights).Sum());
        }
        Dictionary<string, NDArray> found = Gradients(attention);
        NDArray ofX = x.Gradient.Duplicate();
        x.Gradient.Multiply(0, x.Gradient);
        Zero(attention);
        using (GradientTape tape = manager.NewGradientTape())
        {
            NDArray heads = Attended(attention, x, lens);
            NDArray output = heads.MatMul(attention.Parameters["W_o.weight"].Array.Transpose());
            tape.Backward((output * weights).Sum());
        }
        AssertClose(x.Gradient, ofX);
        foreach (KeyValuePair<string, NDArray> one in Gradients(attention))
        {
            AssertClose(one.Value, found[one.Key]);
        }
    }

    [Fact]
    public void TwoUsesAddUp()
    {
        using TransformerEncoderBlock block = Encoder();
        using NDArray x = Numbers(2, 3, 8);
        using NDArray y = Numbers(2, 3, 8) * 0.5;
        Run(tape => tape.Backward(block.Forward(x).SingletonOrThrow().Square().Sum()));
        Dictionary<string, NDArray> first = Gradients(block);
        Zero(block);
        Run(tape => tape.Backward(block.Forward(y).SingletonOrThrow().Square().Sum()));
        Dictionary<string, NDArray> second = Gradients(block);
        Run(tape => tape.Backward(block.Forward(x).SingletonOrThrow().Square().Sum()));
        foreach (KeyValuePair<string, NDArray> sum in Gradients(block))
        {
            AssertClose(first[sum.Key] + second[sum.Key], sum.Value);
        }
        Dictionary<string, NDArray> inTwoTapes = Gradients(block);
        Zero(block);
        Run(tape =>
        {
            NDArray ofX = block.Forward(x).SingletonOrThrow().Square().Sum();
            tape.Backward(ofX + block.Forward(y).SingletonOrThrow().Square().Sum());
        });
        AssertSameBits(inTwoTapes, Gradients(block));
    }

    [Fact]
    public void ArraysAndListsGiveTheSameBits()
    {
        using TransformerEncoderBlock block = Encoder();
        using NDArray x = Numbers(2, 3, 8);
        x.RequiresGradient = true;
        Run(tape => tape.Backward(block.Forward(x).SingletonOrThrow().Square().Sum()));
        Dictionary<string, NDArray> found = Gradients(block);
        NDArray ofX = x.Gradient.Duplicate();
        Zero(block);
        x.RequiresGradient = false;
        x.RequiresGradient = true;
        Run(tape => tape.Backward(block.Forward(new AttentionInputs(x)).Square().Sum()));
        AssertSameBits(found, Gradients(block));
        Assert.True(ofX.ContentEquals(x.Gradient));
    }

    [Fact]
    public void ChildrenAddToTheSetOfTheWhole()
    {
        using TransformerEncoderBlock block = Encoder();
        using NDArray x = Numbers(2, 3, 8);
        var attention = (NativeBlock)block.Children["self_attention"];
        Run(tape => tape.Backward(attention.Forward(x, x, x).SingletonOrThrow().Square().Sum()));
        Assert.Contains(block.Parameters, parameter => parameter.Key.StartsWith("self_attention") && IsNotZero(parameter.Value));
        Assert.DoesNotContain(block.Parameters, parameter => !parameter.Key.StartsWith("self_attention") && IsNotZero(parameter.Value));
        Dictionary<string, NDArray> once = Gradients(block);
        Run(tape => tape.Backward(attention.Forward(x, x, x).SingletonOrThrow().Square().Sum()));
        foreach (KeyValuePair<string, NDArray> sum in Gradients(block))
        {
            Assert.True((once[sum.Key] * 2).ContentEquals(sum.Value));
        }
    }

    [Fact]
    public void FrozenParametersHaveNoGradient()
    {
        using TransformerEncoderBlock block = Encoder();
        using NDArray x = Numbers(2, 3, 8);
        Run(tape => tape.Backward(block.Forward(x).SingletonOrThrow().Square().Sum()));
        Dictionary<string, NDArray> before = Gradients(block);
        block.FreezeParameters(true, parameter => parameter.Name.StartsWith("feed_forward"));
        Assert.Throws<InvalidOperationException>(() => block.Parameters["feed_forward.W_1.weight"].Gradient);
        AssertSameBits(before.Where(one => !one.Key.StartsWith("feed_forward")).ToDictionary(one => one.Key, one => one.Value), Gradients(block));
        Run(tape => tape.Backward(block.Forward(x).SingletonOrThrow().Square().Sum()));
        Assert.False(Gradients(block).ContainsKey("feed_forward.W_1.weight"));
        block.FreezeParameters(true);
        Run(tape =>
        {
            NDArray output = block.Forward(x).SingletonOrThrow().Sum();
            Assert.Throws<ArgumentException>(() => tape.Backward(output));
        });
        block.FreezeParameters(false);
        Assert.False(IsNotZero(block.Parameters["feed_forward.W_1.weight"]));
    }

    [Fact]
    public void DropoutAndEmbeddingsHaveGradients()
    {
        using var dropout = new Dropout(0.5f);
        using NDArray x = Numbers(4, 5);
        x.RequiresGradient = true;
        NDArray dropped = x;
        Run(tape =>
        {
            dropped = dropout.Forward(new ParameterStore(), new NDList(x), training: true).Head;
            tape.Backward((dropped * 3).Sum());
        });
        AssertClose(dropped * 3, x.Gradient * x.StopGradient());
        using var embedding = new Embedding(new EmbeddingOptions { NumEmbeddings = 4, EmbeddingSize = 2 });
        embedding.Initialize(manager, DataType.Float32, new Shape(3));
        using NDArray ids = manager.Create(new long[] { 1, 3, 1 });
        Run(tape => tape.Backward((embedding.Forward(ids).Head * manager.Create(new[] { 2f, 3f })).Sum()));
        Assert.Equal(new[] { 0f, 0f, 4f, 6f, 0f, 0f, 2f, 3f }, embedding.Parameters["weight"].Gradient.ToFloatArray());
        NDArray attended = x;
        x.RequiresGradient = false;
        x.RequiresGradient = true;
        Run(tape =>
        {
            NDArray rows = x.Reshape(1, 4, 5);
            attended = DotProductAttention.ScaledDotProductAttention(rows, rows, rows);
            tape.Backward(attended.Square().Sum());
        });
        NDArray found = x.Gradient.Duplicate();
        x.Gradient.Multiply(0, x.Gradient);
        Run(tape =>
        {
            NDArray shares = Chap10Utils.MaskedSoftmax(x.MatMul(x.Transpose()).Reshape(1, 4, 4) / Math.Sqrt(5), null);
            tape.Backward(shares.MatMul(x.Reshape(1, 4, 5)).Square().Sum());
        });
        AssertClose(x.Gradient, found);
    }

    [Fact]
    public void AFlippedOutputHasAFlippedGradient()
    {
        using var linear = new Linear(2);
        linear.FreezeParameters(true);
        linear.Initialize(manager, DataType.Float32, new Shape(2, 3));
        using NDArray x = Numbers(2, 3);
        using NDArray weights = Numbers(2, 2);
        Run(tape =>
        {
            NDArray output = linear.Forward(x).Head;
            Assert.Throws<ArgumentException>(() => tape.Backward(output.Sum()));
        });
        linear.FreezeParameters(false);
        using (NDScope scope = manager.NewScope())
        {
            // Not the scope's, but the array's.
            x.RequiresGradient = true;
        }
        Run(tape => tape.Backward((linear.Forward(x).Head.Flip() * weights).Sum()));
        AssertClose(weights.Flip().MatMul(linear.Parameters["weight"].Array), x.Gradient);
        AssertClose(weights.Sum(new[] { 0 }).Flip(), linear.Parameters["bias"].Gradient);
    }

    [Fact]
    public void KeptWeightsAreNotDifferentiated()
    {
        using var attention = new DotProductAttention();
        using NDArray x = Numbers(2, 3, 4);
        x.RequiresGradient = true;
        Run(tape =>
        {
            NDArray output = attention.Forward(x, x, x).SingletonOrThrow();
            Assert.Contains("attention weights", Assert.Throws<NotSupportedException>(() => attention.AttentionWeights! * 2).Message);
            _ = attention.AttentionWeights!.StopGradient() * 2;
            Assert.Equal(18, attention.AttentionWeights.ToFloatArray().Length);
            tape.Backward(output.Sum());
        });
        Assert.True(x.Gradient.Abs().Sum().GetFloat() > 0);
    }

    [Fact]
    public void AStepChangesBlocksAndParametersOfTheProgramTogether()
    {
        using var block = new Composed();
        block.Initialize(manager, DataType.Float32, new Shape(2, 3));
        using NDArray x = Numbers(2, 3);
        using var optimizer = new Sgd(block.Parameters, learningRate: 0.5);
        Dictionary<string, NDArray> before = block.Parameters.ToDictionary(one => one.Key, one => one.Value.Array.Duplicate());
        Run(tape => tape.Backward(block.Forward(x).Head.Square().Sum()));
        Dictionary<string, NDArray> gradients = Gradients(block);
        Assert.Equal(new[] { "scale", "01first_weight", "01first_bias", "02second_weight" }, gradients.Keys);
        NDArray snapshot = block.Parameters["scale"].Array;
        Run(tape =>
        {
            NDArray loss = snapshot.Square().Sum();
            optimizer.Step();
            Assert.Contains("the array of Square has been written since", Assert.Throws<InvalidOperationException>(() => tape.Backward(loss)).Message);
        });
        foreach (Pair<string, Parameter> parameter in block.Parameters)
        {
            AssertClose(before[parameter.Key] - (gradients[parameter.Key] * 0.5), parameter.Value.Array);
        }
        optimizer.ZeroGradients();
        Assert.DoesNotContain(block.Parameters, parameter => IsNotZero(parameter.Value));
        ParameterList twice = block.Parameters;
        twice.Add("again", block.Parameters["scale"]);
        using (var first = new Sgd(twice, learningRate: 0))
        {
            first.Step(); // The first name counts.
        }
        var lacking = new ParameterList();
        lacking.Add("first_weight", block.Parameters["01first_weight"]);
        Assert.Contains("parameters lacks bias", Assert.Throws<ArgumentException>(() => new Sgd(lacking)).Message);
        Assert.Throws<ArgumentException>(() => new Sgd(new ParameterList()));
        block.Children[0].Value.FreezeParameters(true);
        Run(tape => tape.Backward(block.Forward(x).Head.Square().Sum()));
        Assert.True(optimizer.ClipGradients(1) > 1);
        optimizer.Step();
        AssertClose(before["01first_bias"] - (gradients["01first_bias"] * 0.5), block.Parameters["01first_bias"].Array);
    }

    private TransformerEncoderBlock Encoder()
    {
        var block = new TransformerEncoderBlock(new TransformerEncoderBlockOptions
        {
            Attention = new MultiHeadAttentionOptions { NumHiddens = 8, NumHeads = 2 },
            FeedForward = new FeedForwardOptions { HiddenSize = 16, OutputSize = 8 },
        });
        block.SetSeed(7);
        block.Initialize(manager, DataType.Float32, new Shape(2, 3, 8));
        return block;
    }

    private sealed class Composed : AbstractBlock
    {
        private readonly Linear first;
        private readonly Linear second;
        private readonly Parameter scale;

        internal Composed()
        {
            scale = AddParameter(new Parameter("scale", ParameterType.Gamma, new Shape(4)));
            first = AddChildBlock("first", new Linear(4));
            second = AddChildBlock("second", new Linear(2, false));
        }

        public override Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null) =>
            new[] { new Shape(2, 2) };

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            first.Initialize(manager, dataType, inputShapes);
            second.Initialize(manager, dataType, new Shape(2, 4));
        }

        protected override NDList ForwardInternal(
            ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            NDArray hidden = first.Forward(parameterStore, inputs, training).Head;
            return second.Forward(parameterStore, new NDList(hidden * parameterStore.GetValue(scale)), training);
        }
    }

    private void Run(Action<GradientTape> step)
    {
        using GradientTape tape = manager.NewGradientTape();
        step(tape);
    }

    /// <summary>Attention of two heads as operations on arrays.</summary>
    private static NDArray Attended(MultiHeadAttention attention, NDArray x, NDArray lens)
    {
        NDArray Heads(string name) => x.MatMul(attention.Parameters[name + ".weight"].Array.Transpose())
            .Reshape(2, 3, 2, 4).Transpose(0, 2, 1, 3);
        NDArray scores = Heads("W_q").MatMul(Heads("W_k").SwapAxes(2, 3)) / Math.Sqrt(4);
        NDArray visible = x.Manager.Arange(0f, 3f).Lt(lens.Reshape(2, 1, 1, 1));
        NDArray shares = scores.Where(visible, -1e6).Softmax(-1);
        return shares.MatMul(Heads("W_v")).Transpose(0, 2, 1, 3).Reshape(2, 3, 8);
    }

    private static Dictionary<string, NDArray> Gradients(Block block) => block.Parameters
        .Where(parameter => parameter.Value.RequiresGradient)
        .ToDictionary(parameter => parameter.Key, parameter => parameter.Value.Gradient.Duplicate());

    private static void Zero(Block block)
    {
        foreach (Pair<string, Parameter> parameter in block.Parameters)
        {
            NDArray gradient = parameter.Value.Gradient;
            gradient.Multiply(0, gradient);
        }
    }

    private static bool IsNotZero(Parameter parameter) => parameter.Gradient.Abs().Sum().GetFloat() > 0;

    private static void AssertSameBits(Dictionary<string, NDArray> expected, Dictionary<string, NDArray> found)
    {
        Assert.Equal(expected.Keys, found.Keys);
        foreach (KeyValuePair<string, NDArray> one in expected)
        {
            Assert.True(one.Value.ContentEquals(found[one.Key]), one.Key);
        }
    }

    private static void AssertClose(NDArray expected, NDArray found) =>
        Assert.True(expected.AllClose(found, 1e-4, 1e-5), $"expected {expected}, found {found}");

    private NDArray Numbers(params long[] shape)
    {
        var of = new Shape(shape);
        return manager.Create(Enumerable.Range(0, (int)of.Size).Select(i => (float)Math.Sin((i * 1.3) + of.Size)).ToArray(), of);
    }
}
