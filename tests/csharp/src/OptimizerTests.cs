// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Optimizers: their steps, what they keep, and what they refuse.</summary>
[Trait(TestDevice.Trait, "cpu")]
public sealed class OptimizerTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly TestFolder folder = new TestFolder();

    /// <summary>One number, 1.</summary>
    private readonly Linear linear = new Linear(1, bias: false);

    public OptimizerTests()
    {
        linear.Initialize(manager, DataType.Float32, new Shape(1, 1));
        Weight.Array.Set(new[] { 1f });
    }

    private Parameter Weight => linear.Parameters["weight"];

    public void Dispose()
    {
        linear.Dispose();
        manager.Dispose();
        folder.Dispose();
    }

    [Fact]
    public void AdamWHasTheStepsOfPyTorch()
    {
        using var optimizer = new AdamW(linear.Parameters);
        AssertSteps(optimizer, new[] { 0.5, -0.25, 0.125 }, 0.99899, 0.998713673, 0.998363257);
    }

    [Fact]
    public void SmallGradientsFeelEpsilonAsInPyTorch()
    {
        using var optimizer = new AdamW(linear.Parameters);
        AssertSteps(optimizer, new[] { 1e-7, 1e-7, 1e-7 }, 0.999080909, 0.998161827, 0.997242755);
    }

    [Fact]
    public void SgdKeepsMomentum()
    {
        using var optimizer = new Sgd(linear.Parameters, learningRate: 0.1, momentum: 0.9);
        AssertSteps(optimizer, new[] { 0.5, -0.25, 0.125 }, 0.95, 0.93, 0.8995);
    }

    [Fact]
    public void SgdHasNesterovsFormAndADecay()
    {
        using var optimizer = new Sgd(linear.Parameters, 0.1, momentum: 0.9, weightDecay: 0.2, nesterov: true);
        double p = 1;
        double b = 0;
        double[] gradients = { 0.5, -0.25, 0.125 };
        AssertSteps(optimizer, gradients, gradients.Select(each =>
        {
            double g = each + (0.2 * p);
            b = (0.9 * b) + g;
            return p -= 0.1 * (g + (0.9 * b));
        }).ToArray());
    }

    [Fact]
    public void AdamAddsItsDecayToTheGradient()
    {
        using var optimizer = new Adam(linear.Parameters, 0.01, 0.8, 0.95, 1e-6, weightDecay: 0.3);
        double p = 1;
        double m = 0;
        double v = 0;
        int t = 0;
        double[] gradients = { 0.5, -0.25, 0.125 };
        AssertSteps(optimizer, gradients, gradients.Select(each =>
        {
            t++;
            double g = each + (0.3 * p);
            m += 0.2 * (g - m);
            v = (0.95 * v) + (0.05 * g * g);
            return p -= 0.01 * m / (1 - Math.Pow(0.8, t)) / (Math.Sqrt(v / (1 - Math.Pow(0.95, t))) + 1e-6);
        }).ToArray());
    }

    [Fact]
    public void AStepKeepsGradientsUntilTheyAreZeroed()
    {
        using var optimizer = new Sgd(linear.Parameters, learningRate: 0.5);
        optimizer.Step();
        Assert.Equal(1f, Value());
        Weight.Gradient.Set(new[] { 1f });
        optimizer.Step();
        optimizer.Step();
        Assert.Equal(0f, Value());
        optimizer.ZeroGradients();
        optimizer.Step();
        Assert.Equal(0f, Value());
        Assert.Equal(0f, Weight.Gradient.ToFloatArray()[0]);
    }

    [Fact]
    public void TheLearningRateMayChangeBetweenSteps()
    {
        using var optimizer = new Sgd(linear.Parameters, learningRate: 0.5);
        Assert.Equal(0.5, optimizer.LearningRate);
        optimizer.LearningRate = 0.25;
        Weight.Gradient.Set(new[] { 1f });
        optimizer.Step();
        Assert.Equal(0.75f, Value());
        optimizer.LearningRate = 0;
        optimizer.Step();
        Assert.Equal(0.75f, Value());
        Assert.Equal("Sgd(learningRate=0)", optimizer.ToString());
    }

    [Fact]
    public void GradientsAreClippedTogether()
    {
        using Linear two = NewLinear(manager);
        using var optimizer = new Sgd(two.Parameters);
        two.Parameters["weight"].Gradient.Set(new[] { 3f, 0, 0, 0, 0, 0 });
        two.Parameters["bias"].Gradient.Set(new[] { 0, 4f });
        Assert.Equal(5, optimizer.ClipGradients(double.PositiveInfinity));
        Assert.Equal(5, optimizer.ClipGradients(1));
        Assert.Equal(0.6f, two.Parameters["weight"].Gradient.ToFloatArray()[0], 1e-6);
        Assert.Equal(0.8f, two.Parameters["bias"].Gradient.ToFloatArray()[1], 1e-6);
        AssertThrows<ArgumentException>("maxNorm is -1, expected a number of at least 0", () => optimizer.ClipGradients(-1));
    }

    [Fact]
    public void AFailedStepChangesNothing()
    {
        using Linear two = NewLinear(manager);
        using var optimizer = new AdamW(two.Parameters);
        float[] before = Values(two);
        two.Parameters["weight"].Gradient.Set(new[] { 1f, 1, 1, 1, 1, 1 });
        two.Parameters["bias"].Gradient.Set(new[] { 0, float.NaN });
        AssertThrows<ArgumentException>(
            "gradients has NaN for bias at index (1), expected finite numbers", optimizer.Step);
        Assert.Equal(before, Values(two));
        two.Parameters["bias"].Gradient.Set(new[] { 0f, 0 });
        optimizer.Step();
        Assert.NotEqual(before, Values(two));
    }

    [Fact]
    public void FrozenParametersStay()
    {
        using Linear two = NewLinear(manager);
        two.Parameters["bias"].Freeze(true);
        two.Parameters["weight"].Gradient.Set(new[] { 1f, 1, 1, 1, 1, 1 });
        using var optimizer = new Sgd(two.Parameters, learningRate: 1);
        float[] bias = two.Parameters["bias"].Array.ToFloatArray();
        float[] weight = two.Parameters["weight"].Array.ToFloatArray();
        optimizer.Step();
        Assert.Equal(bias, two.Parameters["bias"].Array.ToFloatArray());
        Assert.Equal(weight.Select(each => each - 1), two.Parameters["weight"].Array.ToFloatArray());
        two.FreezeParameters(true);
        AssertThrows<InvalidOperationException>(
            "all parameters are frozen, expected at least one that requires a gradient", optimizer.Step);
        optimizer.ZeroGradients();
        Assert.Equal(0, optimizer.ClipGradients(1));
    }

    [Fact]
    public void GroupsHaveNumbersOfTheirOwn()
    {
        using Linear two = NewLinear(manager);
        two.Parameters["bias"].Array.Set(new[] { 1f, 1 });
        two.Parameters["weight"].Array.Set(new[] { 1f, 1, 1, 1, 1, 1 });
        using var optimizer = new AdamW(two.Parameters, learningRate: 0.5, weightDecay: 0.5);
        optimizer.SetGroup("bias", learningRateFactor: 2, weightDecay: 0.25);
        optimizer.SetGroup("weight");
        optimizer.Step();
        Assert.Equal(0.75f, two.Parameters["bias"].Array.ToFloatArray()[0]);
        Assert.Equal(1f, two.Parameters["weight"].Array.ToFloatArray()[0]);
        AssertThrows<HeedException>(
            "prefix is \"W_x\", which no parameter of the optimizer's block has, expected a parameter's name or its beginning "
            + "before a dot; it has weight, bias",
            () => optimizer.SetGroup("W_x"));
        AssertThrows<ArgumentException>(
            "learningRateFactor is -1, expected a number of at least 0 that is finite in Float32",
            () => optimizer.SetGroup("bias", -1));
        AssertThrows<ArgumentException>(
            "weightDecay is Infinity, expected a number of at least 0 that is finite in Float32",
            () => optimizer.SetGroup("bias", 1, double.PositiveInfinity));
    }

    [Fact]
    public void OptionsOutOfRangeAreRefusedAtOnce()
    {
        ParameterList parameters = linear.Parameters;
        const string Expected = ", expected a number of at least 0 that is finite in Float32";
        AssertThrows<ArgumentException>("learningRate is -1" + Expected, () => new Sgd(parameters, -1));
        AssertThrows<ArgumentException>("momentum is NaN" + Expected, () => new Sgd(parameters, momentum: double.NaN));
        AssertThrows<ArgumentException>(
            "nesterov is true with momentum 0, expected a momentum above 0", () => new Sgd(parameters, nesterov: true));
        AssertThrows<ArgumentException>(
            "beta1 is 1, expected a number from 0 to below 1", () => new Adam(parameters, beta1: 1));
        AssertThrows<ArgumentException>(
            "beta2 is -0.5, expected a number from 0 to below 1", () => new AdamW(parameters, beta2: -0.5));
        AssertThrows<ArgumentException>("Epsilon is -1" + Expected, () => new AdamW(parameters, epsilon: -1));
        AssertThrows<ArgumentException>("weightDecay is -1" + Expected, () => new AdamW(parameters, weightDecay: -1));
        using var optimizer = new Sgd(parameters);
        AssertThrows<ArgumentException>("LearningRate is -1" + Expected, () => optimizer.LearningRate = -1);
        Assert.Equal(1e-3, optimizer.LearningRate);
    }

    [Fact]
    public void ListsThatLackParametersAreRefused()
    {
        using Linear two = NewLinear(manager);
        var some = new ParameterList { { "weight", two.Parameters["weight"] } };
        Assert.Contains("bias", Assert.Throws<ArgumentException>(() => new Sgd(some)).Message, StringComparison.Ordinal);
        two.Parameters["bias"].Freeze(true);
        new Sgd(some).Dispose();
        Assert.Throws<ArgumentException>(() => new Sgd(new ParameterList()));
        two.Parameters["weight"].Freeze(true);
        AssertThrows<ArgumentException>(
            "parameters has none that requires a gradient, expected at least one (Parameter 'parameters')",
            () => new Sgd(two.Parameters));
    }

    [Fact]
    public void ABlockOfTheProgramStepsAsAWhole()
    {
        using var block = new ScaledBlock();
        block.Initialize(manager, DataType.Float32, new Shape(4, 3));
        foreach (Parameter parameter in block.Parameters.Values)
        {
            parameter.Array.Set(Enumerable.Repeat(1f, (int)parameter.Shape!.Size).ToArray());
            parameter.Gradient.Set(Enumerable.Repeat(0.5f, (int)parameter.Shape.Size).ToArray());
        }
        using var optimizer = new Sgd(block.Parameters, learningRate: 1, momentum: 0.5);
        Pair<string, Parameter> bias = block.Parameters.Single(each => each.Value.Name == "bias");
        bias.Value.Gradient.Set(new[] { 0.5f, float.NaN });
        AssertThrows<ArgumentException>(
            $"gradients has NaN for {bias.Key} at index (1), expected finite numbers", optimizer.Step);
        Assert.All(Values(block), each => Assert.Equal(1f, each));
        AssertThrows<ArgumentException>(
            $"gradients has NaN for bias at index (1), expected finite numbers", () => optimizer.ClipGradients(1));
        bias.Value.Gradient.Set(new[] { 0.5f, 0.5f });
        optimizer.Step();
        Assert.All(Values(block), each => Assert.Equal(0.5f, each));
        optimizer.Save(folder["optimizer"]);
        using var other = new Sgd(block.Parameters, learningRate: 2);
        other.Load(folder["optimizer"]);
        other.Step();
        Assert.All(Values(block), each => Assert.Equal(-0.25f, each));
        block.Parameters["scale"].SetArray(manager.Zeros(new Shape(2)));
        AssertThrows<ArgumentException>(
            "gradients is of another array than \"scale\" in earlier steps, expected the same memory for a name", other.Step);
    }

    [Fact]
    public void ADisposedOptimizerSaysSo()
    {
        var optimizer = new Sgd(linear.Parameters);
        optimizer.Dispose();
        optimizer.Dispose();
        Assert.Contains("the optimizer is closed", Assert.Throws<ObjectDisposedException>(optimizer.Step).Message);
        Assert.Throws<ObjectDisposedException>(optimizer.ZeroGradients);
        Assert.Throws<ObjectDisposedException>(() => optimizer.LearningRate = 1);
        Assert.Throws<ObjectDisposedException>(() => optimizer.ClipGradients(1));
        Assert.Throws<ObjectDisposedException>(() => optimizer.Save(folder["a"]));
        Assert.Throws<ObjectDisposedException>(() => optimizer.Load(folder["a"]));
        Assert.Throws<ObjectDisposedException>(() => optimizer.SetGroup(string.Empty));
        Assert.Equal("Sgd(learningRate=0.001, closed)", optimizer.ToString());
        Assert.Equal(1f, Value());
    }

    [Fact]
    public void ParametersThatAreMadeAnewNeedAnotherOptimizer()
    {
        using Linear two = NewLinear(manager);
        using var optimizer = new AdamW(two.Parameters);
        optimizer.Step();
        two.Clear();
        two.Initialize(manager, DataType.Float32, new Shape(4, 3));
        string message = Assert.Throws<ArgumentException>(optimizer.Step).Message;
        Assert.Contains("another block", message, StringComparison.Ordinal);
        using var other = new AdamW(two.Parameters);
        other.Step();
    }

    /// <summary>The parameter after each of the steps with these gradients.</summary>
    private void AssertSteps(Optimizer optimizer, double[] gradients, params double[] expected)
    {
        for (int step = 0; step < gradients.Length; step++)
        {
            Weight.Gradient.Set(new[] { (float)gradients[step] });
            optimizer.Step();
            Assert.Equal(expected[step], Value(), 2e-7);
        }
    }

    private static void AssertThrows<TError>(string message, Action code)
        where TError : Exception =>
        Assert.StartsWith(message, Assert.Throws<TError>(code).Message, StringComparison.Ordinal);

    private static Linear NewLinear(NDManager manager)
    {
        var made = new Linear(2);
        made.Initialize(manager, DataType.Float32, new Shape(4, 3));
        return made;
    }

    private static float[] Values(Block block) =>
        block.Parameters.Values.SelectMany(each => each.Array.ToFloatArray()).ToArray();

    private float Value() => Weight.Array.ToFloatArray()[0];
}
