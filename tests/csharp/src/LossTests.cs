// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>Losses, and their gradients against central differences of the formulas in double.</summary>
[Trait(TestDevice.Trait, "cpu")]
public sealed class LossTests : IDisposable
{
    private const double Step = 1e-6;
    private const int C = 5;

    private static readonly long[] Labels = { 1, 4, 0, 2, 3, 2 };

    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void CrossEntropyHasTheNumbersOfThePage()
    {
        using NDArray logits = Logits();
        using NDArray labels = manager.Create(Labels, new Shape(2, 3));
        using NDArray lens = manager.Create(new long[] { 3, 1 });
        Assert.Equal(1.3373755f, Loss.CrossEntropy(logits, labels, lens).Item<float>(), 1e-6);
        Assert.Equal(
            0.8738638f + 0.9570112f + 1.1205132f + 2.3981139f,
            Loss.CrossEntropy(logits, labels, lens, reduction: LossReduction.Sum).Item<float>(), 1e-5);
        Assert.Equal(
            0.9837961f + 0.7993713f,
            Loss.CrossEntropy(logits, labels, lens, reduction: LossReduction.MeanOfItems).Item<float>(), 1e-6);
        NDArray first = Loss.CrossEntropy(
            logits[0, NDIndex.Slice(0, 1)], labels[0, NDIndex.Slice(0, 1)].ToType(DataType.Int32), labelSmoothing: 0.1f);
        Assert.Equal(0.9985067f, first.Item<float>(), 1e-6);
        Assert.Equal((new Shape(), DataType.Float32, manager), (first.Shape, first.DataType, first.Manager));
    }

    [Theory]
    [InlineData(LossReduction.Mean, 0f)]
    [InlineData(LossReduction.Mean, 0.25f)]
    [InlineData(LossReduction.Sum, 0f)]
    [InlineData(LossReduction.MeanOfItems, 0.1f)]
    public void CrossEntropyHasItsGradient(LossReduction reduction, float smoothing)
    {
        using NDArray logits = Logits();
        using NDArray labels = manager.Create(Labels, new Shape(2, 3));
        using NDArray lens = manager.Create(new long[] { 3, 2 });
        logits.RequiresGradient = true;
        NDArray free = Loss.CrossEntropy(logits, labels, lens, smoothing, ignoreIndex: 4, reduction: reduction);
        using (GradientTape tape = manager.NewGradientTape())
        {
            NDArray loss = Loss.CrossEntropy(logits, labels, lens, smoothing, ignoreIndex: 4, reduction: reduction);
            Assert.True(loss.ContentEquals(free));
            tape.Backward(loss);
        }
        AssertGradient(
            z => CrossEntropy(z, new[] { true, false, true, true, true, false }, smoothing, reduction),
            logits.ToDoubleArrayOfFloats(), logits.Gradient);
    }

    [Theory]
    [InlineData(LossReduction.Mean, 1.0)]
    [InlineData(LossReduction.Sum, 0.5)]
    [InlineData(LossReduction.MeanOfItems, 2.0)]
    public void SquaredErrorHasItsGradients(LossReduction reduction, double factor)
    {
        using NDArray predictions = Logits();
        using NDArray targets = Logits().Cos();
        predictions.RequiresGradient = true;
        targets.RequiresGradient = true;
        double[] right = targets.ToDoubleArrayOfFloats();
        double Error(double[] x) => factor * x.Zip(right, (a, b) => (a - b) * (a - b)).Sum()
            / (reduction == LossReduction.Mean ? 30 : reduction == LossReduction.Sum ? 1 : 15);
        using (GradientTape tape = manager.NewGradientTape())
        {
            NDArray loss = Loss.SquaredError(predictions, targets, factor, reduction);
            Assert.Equal(Error(predictions.ToDoubleArrayOfFloats()), loss.Item<float>(), 1e-4);
            tape.Backward(loss);
        }
        AssertGradient(Error, predictions.ToDoubleArrayOfFloats(), predictions.Gradient);
        Assert.True(targets.Gradient.ContentEquals(-predictions.Gradient));
    }

    [Fact]
    public void TargetsAloneHaveAGradient()
    {
        using NDArray predictions = manager.Create(new[] { 1f, 2, 4 });
        using NDArray targets = manager.Create(new[] { 1f, 1, 1 });
        targets.RequiresGradient = true;
        using GradientTape tape = manager.NewGradientTape();
        tape.Backward(Loss.SquaredError(predictions, targets, reduction: LossReduction.Sum));
        Assert.Equal(new[] { 0f, -2, -6 }, targets.Gradient.ToFloatArray());
    }

    [Fact]
    public void AScaledLossScalesItsGradient()
    {
        using NDArray x = manager.Create(new[] { 1f, 2, 4 });
        using NDArray zeros = manager.Zeros(new Shape(3));
        x.RequiresGradient = true;
        using (GradientTape tape = manager.NewGradientTape())
        {
            NDArray loss = Loss.SquaredError(x * 2, zeros, reduction: LossReduction.Sum);
            tape.Backward((loss * 0.5) + Loss.SquaredError(x, zeros, reduction: LossReduction.Sum));
        }
        Assert.Equal(new[] { 6f, 12, 24 }, x.Gradient.ToFloatArray());
    }

    [Fact]
    public void InfinitiesOfRowsThatDoNotCountReachNothing()
    {
        using NDArray logits = manager.Create(new[] { 1f, 2, float.NaN, float.PositiveInfinity }, new Shape(2, 2));
        using NDArray labels = manager.Create(new long[] { 1, -100 });
        logits.RequiresGradient = true;
        using GradientTape tape = manager.NewGradientTape();
        NDArray loss = Loss.CrossEntropy(logits, labels);
        tape.Backward(loss);
        Assert.Equal(Math.Log(1 + Math.Exp(-1)), loss.Item<float>(), 1e-6);
        Assert.Equal(new[] { 0f, 0 }, logits.Gradient[1].ToFloatArray());
    }

    [Fact]
    public void MistakesAreSaidInWordsOfCSharp()
    {
        using NDArray logits = Logits();
        NDArray Of(params long[] labels) => manager.Create(labels, new Shape(2, labels.Length / 2));
        AssertThrows<ArgumentException>(
            "labels has 5 at index (1, 1), expected 0 to 4, or ignoreIndex, -100 (Parameter 'labels')",
            () => Loss.CrossEntropy(logits, Of(0, 1, 2, 3, 5, 1)));
        AssertThrows<ArgumentException>(
            "labels has shape (2, 4), expected (2, 3), those of logits without the last (Parameter 'labels')",
            () => Loss.CrossEntropy(logits, Of(0, 1, 2, 3, 4, 1, 0, 0)));
        AssertThrows<ArgumentException>(
            "labels is Float32, expected Int32 or Int64 (Parameter 'labels')",
            () => Loss.CrossEntropy(logits, manager.Zeros(new Shape(2, 3))));
        AssertThrows<ArgumentException>(
            "logits is Float64, expected Float32 (Parameter 'logits')",
            () => Loss.CrossEntropy(logits.ToType(DataType.Float64), Of(Labels)));
        AssertThrows<ArgumentException>(
            "validLens has shape (3), expected (2), one length for each item of logits (Parameter 'validLens')",
            () => Loss.CrossEntropy(logits, Of(Labels), manager.Zeros(new Shape(3))));
        AssertThrows<ArgumentException>(
            "labelSmoothing is 1.5, expected ", () => Loss.CrossEntropy(logits, Of(Labels), labelSmoothing: 1.5f));
        AssertThrows<ArgumentException>(
            "reduction is 3, expected LossReduction.Mean (0), LossReduction.Sum (1) or LossReduction.MeanOfItems (2)",
            () => Loss.CrossEntropy(logits, Of(Labels), reduction: (LossReduction)3));
        AssertThrows<ArgumentException>(
            "targets has shape (2, 3), expected (2, 3, 5), those of predictions (Parameter 'targets')",
            () => Loss.SquaredError(logits, manager.Zeros(new Shape(2, 3))));
        AssertThrows<ArgumentException>(
            "predictions has shape () of rank 0",
            () => Loss.SquaredError(
                manager.Zeros(new Shape()), manager.Zeros(new Shape()), reduction: LossReduction.MeanOfItems));
        NDArray closed = manager.Zeros(new Shape(2, 3, 5));
        closed.Dispose();
        AssertThrows<ObjectDisposedException>(
            "the array targets is closed", () => Loss.SquaredError(logits, closed));
    }

    [Fact]
    public void LengthsHaveNoGradient()
    {
        using NDArray logits = Logits();
        using NDArray labels = manager.Create(Labels, new Shape(2, 3));
        using NDArray lens = manager.Create(new[] { 3f, 2 });
        lens.RequiresGradient = true;
        using GradientTape tape = manager.NewGradientTape();
        AssertThrows<NotSupportedException>(
            "validLens of CrossEntropy has no gradient", () => Loss.CrossEntropy(logits, labels, lens));
        Loss.CrossEntropy(logits, labels, lens.StopGradient());
    }

    [Fact]
    public void ALossBelongsToItsThread()
    {
        using NDArray logits = Logits();
        using NDArray labels = manager.Create(Labels, new Shape(2, 3));
        logits.RequiresGradient = true;
        using GradientTape tape = manager.NewGradientTape();
        NDArray doubled = logits * 2;
        Exception? error = null;
        var thread = new Thread(() => error = Record.Exception(() => Loss.CrossEntropy(doubled, labels)));
        thread.Start();
        thread.Join();
        Assert.IsType<InvalidOperationException>(error);
        tape.Backward(Loss.CrossEntropy(doubled, labels));
    }

    /// <summary>2 sin(0.3 + 0.9 i) of shape (2, 3, 5).</summary>
    private NDArray Logits() => manager.Arange(0f, 30f).Multiply(0.9).Add(0.3).Sin().Multiply(2).Reshape(2, 3, C);

    private static double CrossEntropy(double[] z, bool[] counts, double smoothing, LossReduction reduction)
    {
        double sum = 0;
        for (int row = 0; row < Labels.Length; row++)
        {
            if (!counts[row])
            {
                continue;
            }
            double[] logits = z.Skip(row * C).Take(C).ToArray();
            double log = Math.Log(logits.Sum(Math.Exp));
            sum += log - ((1 - smoothing) * logits[Labels[row]]) - (smoothing * logits.Average());
        }
        return sum / (reduction == LossReduction.Mean ? counts.Count(each => each)
            : reduction == LossReduction.Sum ? 1 : 3);
    }

    private static void AssertGradient(Func<double[], double> loss, double[] x, NDArray gradient)
    {
        float[] found = gradient.ToFloatArray();
        for (int i = 0; i < x.Length; i++)
        {
            double at = x[i];
            x[i] = at + Step;
            double above = loss(x);
            x[i] = at - Step;
            double below = loss(x);
            x[i] = at;
            Assert.Equal((above - below) / (2 * Step), found[i], 2e-6);
        }
    }

    private static void AssertThrows<TError>(string message, Action code)
        where TError : Exception =>
        Assert.StartsWith(message, Assert.Throws<TError>(code).Message, StringComparison.Ordinal);
}

/// <summary>Elements of Float32 as doubles.</summary>
internal static class FloatElements
{
    internal static double[] ToDoubleArrayOfFloats(this NDArray array) =>
        array.ToFloatArray().Select(each => (double)each).ToArray();
}
