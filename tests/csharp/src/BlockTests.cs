// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>What all blocks have: parameters, children, types, shapes, seeds, and an end.</summary>
public sealed class BlockTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly ParameterStore ps = new ParameterStore();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void AnArrayOfAParameterIsASnapshotThatWritesThrough()
    {
        using var linear = new Linear(2, bias: false);
        linear.Initialize(manager, DataType.Float32, new Shape(1, 2));
        Parameter weight = linear.Parameters["weight"];
        Assert.Equal("weight", weight.Name);
        Assert.Equal(ParameterType.Weight, weight.Type);
        Assert.Equal(new Shape(2, 2), weight.Shape);
        Assert.Equal("Parameter weight (2, 2) Float32", weight.ToString());
        NDArray before = weight.Array;
        Assert.Same(manager, before.Manager);
        float[] old = before.ToFloatArray();
        NDArray written = weight.Array;
        written.Set(new float[] { 1, 2, 3, 4 });
        Assert.Equal(new float[] { 1, 2, 3, 4 }, written.ToFloatArray());
        Assert.Equal(new float[] { 1, 2, 3, 4 }, weight.Array.ToFloatArray());
        Assert.Equal(old, before.ToFloatArray());
        NDArray x = manager.Create(new float[] { 1, 10 }, new Shape(1, 2));
        Assert.Equal(new float[] { 21, 43 }, linear.Forward(ps, new NDList(x)).Head.ToFloatArray());

        // The value is converted to the parameter's type; another shape is refused, and nothing changes.
        weight.SetArray(manager.Create(new double[] { 5, 6, 7, 8 }, new Shape(2, 2)));
        Assert.Equal(DataType.Float32, weight.Array.DataType);
        Assert.Contains("(2, 3)", Assert.Throws<ArgumentException>(
            () => weight.SetArray(manager.Zeros(new Shape(2, 3)))).Message);
        Assert.Throws<ArgumentException>(() => weight.SetArray(manager.Zeros(new Shape(2, 2), DataType.Int32)));
        Assert.Throws<ArgumentNullException>("array", () => weight.SetArray(null!));
        Assert.Equal(new float[] { 5, 6, 7, 8 }, ps.GetValue(weight).ToFloatArray());
        Assert.Equal(new float[] { 5, 6, 7, 8 }, ps.GetValue(weight, Device.Cpu(), true).ToFloatArray());
        Assert.Throws<ArgumentNullException>("parameter", () => ps.GetValue(null!));
        new ParameterStore(manager).Sync();
        ps.Sync();

        // heed's block knows the shapes of its parameters, and initializes all of them at once.
        weight.SetShape(new Shape(2, 2));
        Assert.Throws<InvalidOperationException>(() => weight.SetShape(new Shape(3, 2)));
        Assert.Throws<ArgumentNullException>("shape", () => weight.SetShape(null!));
        Assert.Throws<InvalidOperationException>(() => weight.Initialize(manager, DataType.Float16));
        linear.Clear();
        Assert.False(weight.IsInitialized);
        Assert.Null(weight.Shape);
        Assert.Throws<InvalidOperationException>(() => weight.Array);
        Assert.Equal("Parameter weight (shape not known)", weight.ToString());
        linear.Initialize(manager, DataType.BFloat16, new Shape(1, 2));
        Assert.Equal("Parameter weight (2, 2) BFloat16", weight.ToString());
        linear.Dispose();
        Assert.Equal("Parameter weight of a disposed block", weight.ToString());
    }

    [Fact]
    public void ALoadedBlockOwnsItsSnapshots()
    {
        var attention = new MultiHeadAttention(100, 5);
        attention.Load(TestFiles.Golden("d2l"), "attention");
        NDArray array = attention.Parameters["W_o.weight"].Array;
        Assert.Equal(
            manager.Load(TestFiles.Golden("d2l"), "attention.W_o.weight").ToFloatArray(), array.ToFloatArray());
        attention.Dispose();
        Assert.True(array.IsReleased);
        Assert.Throws<ObjectDisposedException>(() => attention.Parameters["W_o.weight"].Array);
        Assert.Throws<ObjectDisposedException>(() => attention.Parameters["W_o.weight"].Shape);
        Assert.Throws<ObjectDisposedException>(() => attention.Parameters["W_o.weight"].IsInitialized);
    }

    [Fact]
    public void InitializersMakeTheFirstValues()
    {
        using var attention = new MultiHeadAttention(4, 2, 0, true);
        attention.SetInitializer(new ConstantInitializer(0.5f), ParameterType.Bias);
        attention.SetInitializer(Initializer.Ones, "W_q.weight");
        attention.SetInitializer(Initializer.Zeros, parameter => parameter.Name == "W_k.weight");
        var shape = new Shape(1, 3, 4);
        attention.Initialize(manager, DataType.BFloat16, shape, shape, shape);
        ParameterList parameters = attention.Parameters;
        Assert.All(parameters.Values, parameter => Assert.Equal(DataType.BFloat16, parameter.Array.DataType));
        float[] Of(string name) => parameters[name].Array.ToFloatArray();
        Assert.All(Of("W_q.weight"), number => Assert.Equal(1, number));
        Assert.All(Of("W_k.weight"), number => Assert.Equal(0, number));
        Assert.All(Of("W_v.bias"), number => Assert.Equal(0.5f, number));
        Assert.InRange(Of("W_v.weight").Distinct().Count(), 8, 16);

        // Existing parameters are kept.
        attention.SetInitializer(Initializer.Ones, ParameterType.Weight);
        Assert.Same(Initializer.Ones, parameters["W_k.weight"].Initializer);
        attention.Initialize(manager, DataType.BFloat16, shape, shape, shape);
        Assert.All(Of("W_k.weight"), number => Assert.Equal(0, number));

        Assert.Contains("W_q.weight", Assert.Throws<ArgumentException>(
            "parameterName", () => attention.SetInitializer(Initializer.Ones, "nobody")).Message);
        Assert.Throws<ArgumentNullException>("initializer", () => attention.SetInitializer(null!, "W_q.weight"));
        Assert.Throws<ArgumentNullException>(
            "initializer", () => attention.SetInitializer(null!, ParameterType.Bias));
        Assert.Throws<ArgumentNullException>(
            "parameterName", () => attention.SetInitializer(Initializer.Ones, (string)null!));
        Assert.Throws<ArgumentNullException>(
            "predicate", () => attention.SetInitializer(Initializer.Ones, (Predicate<Parameter>)null!));
    }

    /// <summary>An initializer that throws, or returns null or another shape, leaves the block unchanged. An
    /// initializer may use the block.</summary>
    [Fact]
    public void WrongInitializersChangeNothing()
    {
        using var linear = new Linear(2, bias: false);
        var shape = new Shape(1, 3);
        linear.SetInitializer(new FunctionInitializer((_, _, _) => throw new FormatException("mine")), "weight");
        Assert.Throws<FormatException>(() => linear.Initialize(manager, DataType.Float32, shape));
        linear.SetInitializer(new FunctionInitializer((_, _, _) => null!), "weight");
        Assert.Contains("weight", Assert.Throws<InvalidOperationException>(
            () => linear.Initialize(manager, DataType.Float32, shape)).Message);
        linear.SetInitializer(new FunctionInitializer((each, _, _) => each.Ones(new Shape(3, 2))), "weight");
        Assert.Contains("(3, 2)", Assert.Throws<ArgumentException>(
            () => linear.Initialize(manager, DataType.Float32, shape)).Message);
        Assert.False(linear.IsInitialized);
        linear.SetInitializer(
            new FunctionInitializer((each, wanted, _) =>
            {
                Assert.False(linear.IsInitialized);
                return each.Full(wanted, 3, DataType.Float64);
            }),
            "weight");
        linear.Initialize(manager, DataType.Float16, shape);
        Assert.Equal(new float[] { 3, 3, 3, 3, 3, 3 }, linear.Parameters["weight"].Array.ToFloatArray());
        Assert.Equal(DataType.Float16, linear.Parameters["weight"].Array.DataType);
    }

    [Fact]
    public void InitializersDrawFromTheirDistributions()
    {
        var shape = new Shape(200, 50);
        (Initializer Initializer, double Variance, double Bound)[] all =
        {
            (new XavierInitializer(), 2.0 / 50, 0.2 * 6.5),
            (new XavierInitializer(XavierInitializer.RandomType.Uniform, XavierInitializer.FactorType.Out, 3),
                3.0 / 200 / 3, Math.Sqrt(3.0 / 200)),
            (new XavierInitializer(XavierInitializer.RandomType.Gaussian, XavierInitializer.FactorType.Avg, 1),
                1 / 125.0, 0.0895 * 6.5),
            (new NormalInitializer(), 1e-4, 0.065),
            (new NormalInitializer(2), 4, 13),
            (new UniformInitializer(), 0.07 * 0.07 / 3, 0.07),
            (new UniformInitializer(3), 3, 3),

            // A normal distribution cut off at two standard deviations has 0.7737 of its variance.
            (new TruncatedNormalInitializer(), 0.7737e-4, 0.02),
        };
        foreach ((Initializer initializer, double variance, double bound) in all)
        {
            foreach (DataType type in new[] { DataType.Float32, DataType.Float16 })
            {
                using NDArray array = initializer.Initialize(manager, shape, type);
                Assert.Equal(type, array.DataType);
                Assert.Equal(shape, array.Shape);
                float[] numbers = array.ToFloatArray();
                Assert.All(numbers, number => Assert.InRange(Math.Abs(number), 0, bound * 1.001));

                // 10,000 numbers: the standard error of their variance is at most sqrt(2 / 10000) of it; six of these.
                double found = numbers.Sum(number => (double)number * number) / numbers.Length;
                Assert.Equal(variance, found, variance * 6 * Math.Sqrt(2e-4));
            }
        }

        // (out, in, rest): the rest counts for both sizes.
        NDArray deep = new XavierInitializer(XavierInitializer.RandomType.Uniform).Initialize(
            manager, new Shape(2, 5, 100), DataType.Float32);
        Assert.InRange(deep.ToFloatArray().Max(), 0.95 * Math.Sqrt(2.0 / 500), Math.Sqrt(2.0 / 500));
    }

    [Fact]
    public void InitializersRefuseWhatTheyCannot()
    {
        var xavier = new XavierInitializer();
        Assert.Contains("(3)", Assert.Throws<ArgumentException>(
            "shape", () => xavier.Initialize(manager, new Shape(3), DataType.Float32)).Message);
        Assert.Throws<ArgumentException>(
            "shape", () => xavier.Initialize(manager, new Shape(3, 0), DataType.Float32));
        foreach (float magnitude in new[] { 0, -1, float.NaN, float.PositiveInfinity })
        {
            Assert.Throws<ArgumentOutOfRangeException>("magnitude", () => new XavierInitializer(magnitude: magnitude));
        }
        Assert.Throws<ArgumentOutOfRangeException>(
            "randomType", () => new XavierInitializer((XavierInitializer.RandomType)7));
        Assert.Throws<ArgumentOutOfRangeException>(
            "factorType", () => new XavierInitializer(factorType: (XavierInitializer.FactorType)7));
        foreach (Initializer initializer in new[]
        {
            xavier, Initializer.Zeros, new NormalInitializer(), new UniformInitializer(),
            new TruncatedNormalInitializer(),
        })
        {
            Assert.Throws<ArgumentNullException>(
                "manager", () => initializer.Initialize(null!, new Shape(2, 2), DataType.Float32));
            Assert.Throws<ArgumentNullException>(
                "shape", () => initializer.Initialize(manager, null!, DataType.Float32));
        }
        foreach (Initializer initializer in new Initializer[]
        {
            new NormalInitializer(-1), new UniformInitializer(-1), new TruncatedNormalInitializer(float.NaN),
        })
        {
            Assert.ThrowsAny<ArgumentException>(
                () => initializer.Initialize(manager, new Shape(2), DataType.Float32));
        }
    }

    [Fact]
    public void CastsItsParameters()
    {
        using var attention = new MultiHeadAttention(100, 5);
        attention.Load(TestFiles.Golden("d2l"), "attention");
        float[] old = attention.Parameters["W_q.weight"].Array.ToFloatArray();
        attention.Cast(DataType.Float16);
        NDArray cast = attention.Parameters["W_q.weight"].Array;
        Assert.Equal(DataType.Float16, cast.DataType);
        Assert.Equal(old.Select(number => (float)(Half)number), cast.ToFloatArray());
        foreach (DataType type in new[] { DataType.Float64, DataType.Int32, (DataType)99 })
        {
            Assert.Throws<ArgumentException>("dataType", () => attention.Cast(type));
        }
        using NDManager owner = manager.NewSubManager();
        using var linear = new Linear(2);
        linear.Initialize(owner, DataType.Float32, new Shape(3));
        linear.Cast(DataType.BFloat16);
        Assert.Same(owner, linear.Parameters["bias"].Array.Manager);
        Assert.Equal(new Shape(3), Assert.Single(linear.InputShapes));
        owner.Dispose();
        Assert.False(linear.IsInitialized);
        Assert.Throws<InvalidOperationException>(() => linear.InputShapes);
        Assert.Throws<ObjectDisposedException>(() => linear.Cast(DataType.Float32));
        using var bare = new Linear(2);
        Assert.Contains("weight", Assert.Throws<InvalidOperationException>(
            () => bare.Cast(DataType.Float16)).Message);
        linear.Dispose();
        Assert.Throws<ObjectDisposedException>(() => linear.Cast(DataType.Float16));
        Assert.Throws<ObjectDisposedException>(() => linear.Clear());
    }

    [Fact]
    public void FreezesParameters()
    {
        using var block = new ScaledBlock();
        Assert.All(block.Parameters.Values, parameter => Assert.True(parameter.RequiresGradient));
        block.FreezeParameters(true);
        Assert.All(block.Parameters.Values, parameter => Assert.False(parameter.RequiresGradient));
        block.FreezeParameters(false, parameter => parameter.Type == ParameterType.Bias);
        Assert.Equal(
            new[] { false, false, true }, block.Parameters.Values.Select(parameter => parameter.RequiresGradient));
    }

    [Fact]
    public void AComposedBlockHasAllBelowIt()
    {
        using var block = new ScaledBlock();
        Assert.Equal(new[] { "scale", "01inner_weight", "01inner_bias" }, block.Parameters.Keys);
        Assert.Equal(new[] { "scale" }, block.DirectParameters.Keys);
        Assert.Equal(new[] { "01inner", "02größe €\U0001d11e" }, block.Children.Keys);
        block.Children.Remove(0);
        block.DirectParameters.Remove(0);
        Assert.Equal(2, block.Children.Count);
        Assert.Single(block.DirectParameters);
        Assert.Equal(
            "ScaledBlock((01inner, Linear(units=2, bias=True)), (02größe €\U0001d11e, Dropout(rate=0.5)))",
            block.ToString());
        Assert.False(block.IsInitialized);
        Assert.Throws<InvalidOperationException>(() => block.InputShapes);
        Assert.Throws<InvalidOperationException>(() => block.Parameters["scale"].Array);
        Assert.Throws<InvalidOperationException>(() => block.Cast(DataType.Float16));

        NDManager owner = manager.NewSubManager();
        block.Initialize(owner, DataType.Float32, new Shape(1, 3));
        Assert.True(block.IsInitialized);
        Assert.Equal((1, 1), (block.Before, block.Prepared));
        Assert.Equal(new[] { new Shape(1, 3) }, block.InputShapes);
        Assert.Equal(new float[] { 1, 1 }, block.Parameters["scale"].Array.ToFloatArray());
        block.Parameters["scale"].Array.Set(new float[] { 2, 3 });
        block.Parameters["01inner_weight"].Array.Set(new float[] { 1, 2, 3, 4, 5, 6 });
        NDArray x = manager.Create(new float[] { 1, 0, -1 }, new Shape(1, 3));
        var given = new PairList<string, object> { { "key", 1 } };
        NDArray result = block.Forward(ps, new NDList(x), false, given).Head;
        Assert.Equal(new float[] { -4, -6 }, result.ToFloatArray());
        Assert.Same(given, block.Given);
        Assert.Equal(new[] { new Shape(9, 2) }, block.GetOutputShapes(new[] { new Shape(9, 3) }));

        // Again: existing parameters are kept and checked, also by Prepare if the shapes are others.
        block.Initialize(owner, DataType.Float32, new Shape(1, 3));
        Assert.Equal((2, 1), (block.Before, block.Prepared));
        block.Initialize(owner, DataType.Float32, new Shape(4, 3));
        Assert.Equal((3, 2), (block.Before, block.Prepared));
        Assert.Equal(new float[] { 2, 3 }, block.Parameters["scale"].Array.ToFloatArray());
        Assert.Throws<ArgumentException>(() => block.Initialize(owner, DataType.Float32, new Shape(4, 5)));
        Assert.Throws<ArgumentException>("dataType", () => block.Cast(DataType.Int8));
        block.Cast(DataType.Float16);
        Assert.All(block.Parameters.Values, each => Assert.Equal(DataType.Float16, each.Array.DataType));
        Assert.Equal(new float[] { 2, 3 }, block.Parameters["scale"].Array.ToFloatArray());

        owner.Dispose();
        Assert.False(block.IsInitialized);
        block.Initialize(manager, DataType.Float32, new Shape(1, 3));
        Assert.True(block.IsInitialized);
        block.Clear();
        Assert.False(block.IsInitialized);
        block.Initialize(manager, DataType.Float32, new Shape(1, 3));
        block.Dispose();
        block.Dispose();
        foreach (Action use in new Action[]
        {
            () => block.Forward(ps, new NDList(x)),
            () => block.Initialize(manager, DataType.Float32, new Shape(1, 3)),
            () => block.Cast(DataType.Float32),
            () => block.Clear(),
            () => block.Parameters["01inner_weight"].Array.ToFloatArray(),
        })
        {
            Assert.Throws<ObjectDisposedException>(use);
        }
    }

    [Fact]
    public void AComposedBlockNamesWhatItLacks()
    {
        using var silent = new SilentBlock(true);
        Assert.Contains("InitializeChildBlocks", Assert.Throws<InvalidOperationException>(
            () => silent.Initialize(manager, DataType.Float32, new Shape(2))).Message);
        Assert.Contains("GetOutputShapes", Assert.Throws<NotSupportedException>(
            () => silent.GetOutputShapes(new[] { new Shape(2) })).Message);
        using var empty = new SilentBlock(false);
        Assert.True(empty.IsInitialized);
        empty.Initialize(manager, DataType.Float32, new Shape(2));
        var list = new NDList(manager.Ones(new Shape(2)));
        Assert.Same(list, empty.Forward(ps, list));
        Assert.Throws<ArgumentNullException>("parameterStore", () => empty.Forward(null!, list));
        Assert.Throws<ArgumentNullException>("inputs", () => empty.Forward(ps, null!));
        Assert.Throws<ArgumentNullException>("manager", () => empty.Initialize(null!, DataType.Float32));
        Assert.Throws<ArgumentNullException>(
            "inputShapes", () => empty.Initialize(manager, DataType.Float32, null!));
        using var block = new ScaledBlock();
        Assert.Throws<ArgumentException>("parameter", block.AddScaleAgain);
        Assert.Throws<ArgumentNullException>("name", () => block.AddNothing(false));
        Assert.Throws<ArgumentNullException>("block", () => block.AddNothing(true));
        using var outer = new ScaledBlock();
        outer.Add(block);
        Assert.Throws<ArgumentException>("block", () => block.Add(block));
        Assert.Throws<ArgumentException>("block", () => block.Add(outer));
    }

    [Fact]
    public void AForwardThatReturnsNullIsNamed()
    {
        using var block = new FunctionBlock((_, _) => null);
        Assert.Equal(
            "FunctionBlock.ForwardInternal gave null",
            Assert.Throws<InvalidOperationException>(() => block.Forward(ps, new NDList())).Message);
    }

    [Fact]
    public void ABlockCannotContainItself()
    {
        using var outer = new FunctionBlock((_, inputs) => inputs);
        using var inner = new FunctionBlock((_, inputs) => inputs);
        using var innermost = new FunctionBlock((_, inputs) => inputs);
        inner.Add(innermost);
        outer.Add(inner);
        outer.Add(inner);
        foreach (Block block in new Block[] { outer, inner, innermost })
        {
            Assert.Contains("inside", Assert.Throws<ArgumentException>("block", () => innermost.Add(block)).Message);
        }
        Assert.Equal(2, outer.Children.Count);
        Assert.Empty(innermost.Children);
    }

    /// <summary>Nesting that is too deep for the stack gives an exception, and does not end the process.</summary>
    [Fact]
    public void BlocksMayBeNestedTooDeep()
    {
        var list = new NDList(manager.Ones(new Shape(2)));
        var endless = new FunctionBlock((self, inputs) => self.Forward(ps, inputs));
        Assert.Throws<InsufficientExecutionStackException>(() => endless.Forward(ps, list));

        var deep = new FunctionBlock((_, inputs) => inputs);
        var innermost = deep;
        for (int i = 0; i < 100_000; i++)
        {
            var next = new FunctionBlock((_, inputs) => inputs);
            innermost.Add(next);
            innermost = next;
        }
        var thrown = new List<Exception?>();
        Action[] uses =
        {
            () => _ = deep.IsInitialized,
            () => _ = deep.Parameters,
            () => deep.ToString(),
            () => deep.Initialize(manager, DataType.Float32, new Shape(2)),
            () => deep.Cast(DataType.Float16),
            () => deep.SetSeed(1),
            () => deep.SaveParameters(new MemoryStream()),
            () => deep.Clear(),
            () => deep.Dispose(),
        };
        // A level may take as little as 80 bytes of stack, so the default of 8 MB could be enough for all levels.
        const int stackBytes = 1 << 20;
        var thread = new Thread(() => thrown.AddRange(uses.Select(Record.Exception)), stackBytes);
        thread.Start();
        thread.Join();
        Assert.Equal(uses.Length, thrown.Count);
        Assert.All(thrown, exception => Assert.IsType<InsufficientExecutionStackException>(exception));
    }

    /// <summary>The first layer below the block gets the seed, the next one the seed plus 2^32, and so on.</summary>
    [Fact]
    public void SeedsOfABlockAreThoseOfTheLayersBelow()
    {
        var shape = new Shape(1, 3);
        using var block = new ScaledBlock();
        block.SetSeed(7);
        block.Initialize(manager, DataType.Float32, shape);
        using var linear = new Linear(2);
        linear.SetSeed(7);
        linear.Initialize(manager, DataType.Float32, shape);
        Assert.Equal(
            linear.Parameters["weight"].Array.ToFloatArray(),
            block.Parameters["01inner_weight"].Array.ToFloatArray());

        NDArray x = manager.RandomNormal(new Shape(100, 3));
        using var dropout = new Dropout();
        dropout.SetSeed(7 + (1L << 32));
        Assert.Equal(
            dropout.Forward(ps, linear.Forward(ps, new NDList(x)), true).Head.ToFloatArray(),
            block.Forward(ps, new NDList(x), true).Head.ToFloatArray());
    }

    [Fact]
    public void ParametersOfAProgramsOwn()
    {
        var parameter = new Parameter("p", ParameterType.Other);
        Assert.False(parameter.IsInitialized);
        Assert.Null(parameter.Initializer);
        Assert.Null(parameter.Shape);
        Assert.Contains("no shape", Assert.Throws<InvalidOperationException>(() => parameter.Initialize(manager, DataType.Float32)).Message);
        parameter.SetShape(new Shape(2));
        Assert.Contains("Other", Assert.Throws<InvalidOperationException>(() => parameter.Initialize(manager, DataType.Float32)).Message);
        parameter.SetInitializer(Initializer.Ones);
        parameter.Initialize(manager, DataType.Int32);
        Assert.Equal(new[] { 1, 1 }, parameter.Array.ToIntArray());
        Assert.Same(parameter.Array, parameter.Array);
        Assert.Throws<InvalidOperationException>(() => parameter.SetShape(new Shape(3)));
        Assert.Throws<ArgumentException>(() => parameter.SetArray(manager.Ones(new Shape(3))));
        NDArray other = manager.Zeros(new Shape(2));
        parameter.SetArray(other);
        Assert.Same(other, parameter.Array);
        parameter.Freeze(true);
        Assert.False(parameter.RequiresGradient);
        other.Dispose();
        Assert.False(parameter.IsInitialized);

        foreach ((ParameterType type, float first) in new[]
        {
            (ParameterType.Bias, 0f), (ParameterType.Gamma, 1), (ParameterType.Beta, 0),
            (ParameterType.RunningMean, 0), (ParameterType.RunningVar, 1),
        })
        {
            var each = new Parameter("p", type, new Shape(1));
            each.Initialize(manager, DataType.Float32);
            Assert.Equal(first, each.Array.GetFloat(0));
        }
        var weight = new Parameter("w", ParameterType.Weight, new Shape(2, 2), new ConstantInitializer(3));
        weight.Initialize(manager, DataType.Float32);
        Assert.Equal(new float[] { 3, 3, 3, 3 }, weight.Array.ToFloatArray());
        var drawn = new Parameter("w", shape: new Shape(2, 2));
        drawn.Initialize(manager, DataType.Float32);
        Assert.Equal(4, drawn.Array.ToFloatArray().Distinct().Count());
        Assert.Throws<ArgumentNullException>("name", () => new Parameter(null!));
        Assert.Throws<ArgumentNullException>("initializer", () => drawn.SetInitializer(null!));
        Assert.Throws<ArgumentNullException>("shape", () => drawn.SetShape(null!));
        Assert.Throws<ArgumentNullException>("array", () => drawn.SetArray(null!));
        Assert.Throws<ArgumentNullException>("manager", () => drawn.Initialize(null!, DataType.Float32));
    }

    /// <summary>The array that an initializer returns is used only if it fits.</summary>
    [Fact]
    public void InitializersOfAProgramsOwnHaveToFit()
    {
        foreach ((Func<NDManager, Shape, DataType, NDArray> wrong, Type error, string word) in new[]
        {
            ((Func<NDManager, Shape, DataType, NDArray>)((_, _, _) => null!),
                typeof(InvalidOperationException), "the initializer of p gave null"),
            ((owner, _, _) => owner.Zeros(new Shape(7)), typeof(ArgumentException), "p is of shape (2, 2), got (7)"),
            ((owner, shape, _) =>
            {
                NDArray closed = owner.Zeros(shape);
                closed.Dispose();
                return closed;
            }, typeof(ObjectDisposedException), "closed"),
        })
        {
            var parameter = new Parameter("p", shape: new Shape(2, 2), initializer: new FunctionInitializer(wrong));
            Action initialize = () => parameter.Initialize(manager, DataType.Float32);
            Assert.Contains(word, Assert.Throws(error, initialize).Message);
            Assert.False(parameter.IsInitialized);
            Assert.Equal(new Shape(2, 2), parameter.Shape);
        }
    }
}
