// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

namespace Heed.Tests;

/// <summary>What a gradient tape adds up, and what it refuses.</summary>
[Trait(TestDevice.Trait, "cpu")]
public sealed class GradientTapeTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly NDArray x;

    public GradientTapeTests()
    {
        x = manager.Create(new[] { 1f, -2f, 3f });
        x.RequiresGradient = true;
    }

    public static TheoryData<string> Refused => new(new[]
    {
        "Sign", "Round", "Floor", "Ceiling", "Truncate", "Remainder", "Max", "Min", "Prod", "ArgMax", "IsNaN", "IsInfinite",
        "Eq", "Gt", "LogicalAnd", "LogicalNot", "CumSum", "Sort", "ArgSort", "TopK", "OneHot", "Any", "All", "None",
    });

    public void Dispose() => manager.Dispose();

    [Fact]
    public void AGradientIsAddedToTheLeaf()
    {
        Assert.True(x.HasGradient);
        Assert.Equal(new[] { 0f, 0f, 0f }, x.Gradient.ToFloatArray());
        for (int time = 1; time <= 2; time++)
        {
            using GradientTape tape = manager.NewGradientTape();
            tape.Backward(x.Square().Sum());
            Assert.Equal(new[] { 2f * time, -4f * time, 6f * time }, x.Gradient.ToFloatArray());
        }
        x.Gradient.Multiply(0.5, x.Gradient);
        Assert.Equal(new[] { 2f, -4f, 6f }, x.Gradient.ToFloatArray());
        x.RequiresGradient = false;
        Assert.False(x.HasGradient);
        Assert.Contains("requires no gradient", Assert.Throws<InvalidOperationException>(() => x.Gradient).Message);
        using NDArray whole = manager.Create(new[] { 1, 2 });
        Assert.Throws<ArgumentException>(() => whole.RequiresGradient = true);
        whole.RequiresGradient = false;
        Assert.False(whole.RequiresGradient);
    }

    [Theory]
    [MemberData(nameof(Refused))]
    public void WhatHasNoGradientIsRefusedByName(string operation)
    {
        using GradientTape tape = manager.NewGradientTape();
        Action<NDArray> call = operation switch
        {
            "Sign" => a => a.Sign(),
            "Round" => a => a.Round(),
            "Floor" => a => a.Floor(),
            "Ceiling" => a => a.Ceiling(),
            "Truncate" => a => a.Truncate(),
            "Remainder" => a => _ = a % 2,
            "Max" => a => a.Max(),
            "Min" => a => a.Min(),
            "Prod" => a => a.Prod(),
            "ArgMax" => a => a.ArgMax(),
            "IsNaN" => a => a.IsNaN(),
            "IsInfinite" => a => a.IsInfinite(),
            "Eq" => a => a.Eq(a),
            "Gt" => a => _ = a > 0,
            "LogicalAnd" => a => a.LogicalAnd(a),
            "LogicalNot" => a => a.LogicalNot(),
            "CumSum" => a => a.CumSum(),
            "Sort" => a => a.Sort(),
            "ArgSort" => a => a.ArgSort(),
            "TopK" => a => a.TopK(1),
            "OneHot" => a => a.OneHot(3),
            "Any" => a => a.Any(),
            "All" => a => a.All(),
            _ => a => a.None(),
        };
        string expected = $"{operation} has no gradient, and its array is computed under a gradient tape: expected an "
            + "operation that docs/training.md lists, or StopGradient() of the array";
        Assert.Equal(expected, Assert.Throws<NotSupportedException>(() => call(x)).Message);
        Assert.Equal(expected, Assert.Throws<NotSupportedException>(() => call(x * 2)).Message);
        call(x.StopGradient());
    }

    [Fact]
    public void ConversionsWithoutAGradientAreRefused()
    {
        using GradientTape tape = manager.NewGradientTape();
        Assert.Contains("ToType(Int32) has no", Assert.Throws<NotSupportedException>(() => x.ToType(DataType.Int32)).Message);
        Assert.Contains("ToType(Float16)", Assert.Throws<NotSupportedException>(() => x.ToType(DataType.Float16)).Message);
        Assert.Contains(
            "Normalize with the exponent 3", Assert.Throws<NotSupportedException>(() => x.Normalize(3, 0)).Message);
        using NDArray number = manager.Create(2f);
        Assert.Contains("Pow", Assert.Throws<NotSupportedException>(() => x.Pow(2, manager.Create(new Shape(3)))).Message);
    }

    [Fact]
    public void WritesAreRefused()
    {
        using GradientTape tape = manager.NewGradientTape();
        NDArray y = x * 2;
        using NDArray plain = manager.Create(new Shape(3));
        Assert.Contains(
            "Add writes into an array that exists", Assert.Throws<NotSupportedException>(() => x.Add(1, plain)).Message);
        Assert.Contains(
            "Add writes into an array that exists", Assert.Throws<NotSupportedException>(() => plain.Add(1, y)).Message);
        Assert.Contains("Set has no", Assert.Throws<NotSupportedException>(() => y.Set(new float[3])).Message);
        Assert.Contains("CopyTo has no", Assert.Throws<NotSupportedException>(() => y.CopyTo(plain)).Message);
        Assert.Contains("CopyTo has no", Assert.Throws<NotSupportedException>(() => plain.CopyTo(y)).Message);
        Assert.Contains("setting a part", Assert.Throws<NotSupportedException>(() => y[0] = 1).Message);
        Assert.Contains("setting a part", Assert.Throws<NotSupportedException>(() => plain[NDIndex.Ellipsis] = y).Message);
        using var linear = new Linear(3);
        linear.Initialize(manager, DataType.Float32, new Shape(1, 3));
        Assert.Contains(
            "SetArray has no", Assert.Throws<NotSupportedException>(() => linear.Parameters["bias"].SetArray(y)).Message);
        Assert.Throws<NotSupportedException>(() => new Parameter("own").SetArray(y));
        using NDArray row = manager.Ones(new Shape(1, 3));
        Assert.Contains(
            "Forward writes into",
            Assert.Throws<NotSupportedException>(
                () => linear.Forward(new AttentionInputs(row), new AttentionOutputs(row))).Message);
    }

    [Fact]
    public void WhatWasWrittenIsRefusedByBackward()
    {
        using NDArray factor = manager.Create(new[] { 1f, 2f, 3f });
        foreach (Action write in new Action[]
        {
            () => factor.Set(new float[3]),
            () => factor[0] = 5,
            () => factor[NDIndex.Ellipsis] = 5,
            () => factor[factor.Gt(1)] = 5,
            () => factor.Add(1, factor),
            () => factor.Slice(0, 1, 1).Multiply(2, factor.Slice(0, 1, 1)),
            () => x.StopGradient().CopyTo(factor),
            () => factor.TopK(3, 0, true, factor, manager.Create(new Shape(3), DataType.Int64)),
        })
        {
            using GradientTape tape = manager.NewGradientTape();
            NDArray loss = (x * factor).Sum();
            NDArray other = x.Square().Sum();
            write();
            Assert.Equal(
                "the second array of Multiply has been written since: expected the same elements until backward",
                Assert.Throws<InvalidOperationException>(() => tape.Backward(loss)).Message);
            Assert.Equal(new[] { 0f, 0f, 0f }, x.Gradient.ToFloatArray());
            tape.Backward(other);
            x.Gradient.Multiply(0, x.Gradient);
        }
        using (GradientTape tape = manager.NewGradientTape())
        {
            NDArray y = x.Exp();
            NDArray loss = y.Sum();
            NDArray stopped = y.StopGradient();
            stopped[0] = 1;
            Assert.Contains("the result of Exp", Assert.Throws<InvalidOperationException>(() => tape.Backward(loss)).Message);
        }
    }

    [Fact]
    public void ParametersThatWereWrittenAreRefusedByBackward()
    {
        using var linear = new Linear(2);
        linear.Initialize(manager, DataType.Float32, new Shape(1, 3));
        using GradientTape tape = manager.NewGradientTape();
        NDArray loss = linear.Forward(x.Reshape(1, 3)).Head.Sum();
        linear.Parameters["bias"].SetArray(manager.Ones(new Shape(2)));
        Assert.Equal(
            "a parameter of Linear has been written since: expected the same elements until backward",
            Assert.Throws<InvalidOperationException>(() => tape.Backward(loss)).Message);
    }

    [Fact]
    public void AnOperationHasOneBackward()
    {
        using GradientTape tape = manager.NewGradientTape();
        NDArray shared = x.Exp();
        NDArray first = shared.Sum();
        NDArray second = shared.Square().Sum();
        tape.Backward(first);
        Assert.Equal(
            "backward has been computed through Exp already: expected another forward before it",
            Assert.Throws<InvalidOperationException>(() => tape.Backward(second)).Message);
        Assert.Contains("through Sum already", Assert.Throws<InvalidOperationException>(() => tape.Backward(first)).Message);
    }

    [Fact]
    public void TheTargetIsOneElementOfTheTape()
    {
        using GradientTape tape = manager.NewGradientTape();
        Assert.Contains(
            "loss has the shape (3), expected one element: take its Sum() or Mean()",
            Assert.Throws<ArgumentException>(() => tape.Backward(x * 2)).Message);
        const string NotComputed =
            "target was not computed under this gradient tape from anything that requires a gradient";
        foreach (NDArray other in new[] { manager.Create(1f), x[0].StopGradient(), manager.Ones(new Shape(2)).Sum() })
        {
            Assert.Contains(NotComputed, Assert.Throws<ArgumentException>(() => tape.Backward(other)).Message);
        }
        Assert.Throws<ArgumentNullException>(() => tape.Backward(null!));
        Assert.Contains(
            "computed by Multiply under a gradient tape",
            Assert.Throws<InvalidOperationException>(() => (x * 2).RequiresGradient = true).Message);
        tape.Backward((x * 2).Sum().Reshape(1, 1));
        tape.Dispose();
        tape.Dispose();
        Assert.Contains(
            "the gradient tape is closed", Assert.Throws<ObjectDisposedException>(() => tape.Backward(x)).Message);
    }

    [Fact]
    public void HiddenWeightsHaveNoGradient()
    {
        using NDArray lens = manager.Create(new[] { 2 });
        using GradientTape tape = manager.NewGradientTape();
        NDArray shares = Chap10Utils.MaskedSoftmax(x.Reshape(1, 1, 3), lens);
        tape.Backward((shares * manager.Create(new[] { 1f, 2f, 3f })).Sum());
        float[] found = x.Gradient.ToFloatArray();
        Assert.Equal(0, found[2]);
        Assert.Equal(-found[0], found[1], 6);
    }

    [Fact]
    public void AParameterOfTheProgramHasAGradient()
    {
        using var block = new Scaled();
        block.Initialize(manager, DataType.Float32, new Shape(3));
        Parameter scale = block.Parameters["scale"];
        Assert.True(scale.Array.RequiresGradient);
        Assert.Equal(new[] { 0f, 0f, 0f }, scale.Gradient.ToFloatArray());
        using (GradientTape tape = manager.NewGradientTape())
        {
            tape.Backward(block.Forward(x).Head.Sum());
        }
        Assert.Equal(new[] { 1f, -2f, 3f }, scale.Gradient.ToFloatArray());
        Assert.Equal(new[] { 1f, 1f, 1f }, x.Gradient.ToFloatArray());
        Assert.Equal(scale.Gradient.ToFloatArray(), scale.Array.Gradient.ToFloatArray());
        NDArray before = scale.Array;
        scale.SetArray(manager.Ones(new Shape(3)));
        Assert.False(before.RequiresGradient);
        Assert.Equal(new[] { 0f, 0f, 0f }, scale.Gradient.ToFloatArray());
        scale.Freeze(true);
        Assert.Throws<InvalidOperationException>(() => scale.Gradient);
        using (GradientTape tape = manager.NewGradientTape())
        {
            tape.Backward(block.Forward(x).Head.Sum());
        }
        scale.Freeze(false);
        Assert.Equal(new[] { 0f, 0f, 0f }, scale.Gradient.ToFloatArray());
    }

    [Fact]
    public void ASnapshotGivesItsParameterTheGradient()
    {
        using var linear = new Linear(2);
        linear.Initialize(manager, DataType.Float32, new Shape(1, 3));
        Parameter weight = linear.Parameters["weight"];
        using (GradientTape tape = manager.NewGradientTape())
        {
            NDArray loss = linear.Forward(x.Reshape(1, 3)).Head.Sum();
            tape.Backward(loss + weight.Array.Square().Sum());
        }
        using NDArray expected = (weight.Array * 2) + x.StopGradient();
        Assert.True(expected.AllClose(weight.Gradient));
        linear.Cast(DataType.BFloat16);
        Assert.Throws<NotSupportedException>(() => weight.Gradient);
        using (GradientTape tape = manager.NewGradientTape())
        {
            Assert.Throws<NotSupportedException>(() => linear.Forward(x.StopGradient().Reshape(1, 3).ToType(DataType.BFloat16)));
        }
    }

    private sealed class Scaled : AbstractBlock
    {
        private readonly Parameter scale;

        internal Scaled() => scale = AddParameter(new Parameter("scale", ParameterType.Gamma));

        public override Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null) =>
            new[] { inputShapes[0]! };

        protected override void Prepare(Shape?[] inputShapes) => scale.SetShape(inputShapes[0]!);

        protected override NDList ForwardInternal(
            ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) =>
            new NDList(inputs.Head * parameterStore.GetValue(scale));
    }
}
