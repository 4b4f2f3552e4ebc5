// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>Files of optimizers: a training that goes on has the same bits.</summary>
[Trait(TestDevice.Trait, "cpu")]
public sealed class OptimizerFileTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly TestFolder folder = new TestFolder();

    public void Dispose()
    {
        manager.Dispose();
        folder.Dispose();
    }

    [Theory]
    [InlineData("Sgd", 0)]
    [InlineData("Adam", 0)]
    [InlineData("AdamW", 0)]
    [InlineData("AdamW", 2)]
    public void TrainingGoesOnWithTheSameBits(string kind, int numThreads)
    {
        using NDManager there = NDManager.NewBaseManager(
            options: numThreads == 0 ? null : new ContextOptions { NumThreads = numThreads });
        using MultiHeadAttention straight = NewBlock(there);
        using MultiHeadAttention first = NewBlock(there);
        using (Optimizer optimizer = NewOptimizer(kind, straight))
        {
            Train(there, straight, optimizer, 0, 6);
        }
        using (Optimizer optimizer = NewOptimizer(kind, first))
        {
            Train(there, first, optimizer, 0, 3);
            first.Save(folder["block"]);
            optimizer.Save(folder["optimizer"]);
        }

        // The block has its manager's options from its first forward on, after the optimizer was loaded.
        using var resumed = new MultiHeadAttention(8, 2, 0, true);
        resumed.Load(folder["block"]);
        using Optimizer other = NewOptimizer(kind, resumed, 0.5);
        other.Load(folder["optimizer"]);
        Assert.Equal(kind == "Sgd" ? 0.02 : 0.01, other.LearningRate);
        Train(there, resumed, other, 3, 6);
        Assert.Equal(Bits(straight), Bits(resumed));
    }

    [Fact]
    public void AnOptimizerFollowsItsParametersToOtherOptionsWithItsGroups()
    {
        using NDManager there = NDManager.NewBaseManager(options: new ContextOptions { NumThreads = 2 });
        using var made = new Linear(2);
        using var optimizer = new Sgd(made.Parameters, learningRate: 1);
        optimizer.SetGroup("bias", 0.5);
        optimizer.LearningRate = 2;
        made.Initialize(there, DataType.Float32, new Shape(4, 3));
        made.Parameters["bias"].Array.Set(new[] { 1f, 1 });
        made.Parameters["bias"].Gradient.Set(new[] { 1f, 2 });
        optimizer.Step();
        Assert.Equal(new[] { 0f, -1 }, made.Parameters["bias"].Array.ToFloatArray());
    }

    [Fact]
    public void FilesOfOtherKindsAreRefused()
    {
        using var block = new Linear(2);
        block.Initialize(manager, DataType.Float32, new Shape(4, 3));
        using var sgd = new Sgd(block.Parameters, 0.25);
        using var adam = new Adam(block.Parameters, 0.25);
        using var adamW = new AdamW(block.Parameters, 0.25);
        sgd.Save(folder["sgd"]);
        adam.Save(folder["adam"]);
        adamW.Save(folder["adamW"]);
        block.Save(folder["block"]);
        AssertThrows<ArgumentException>(
            $"\"{folder["adam"]}\" has the state of Adam, but the optimizer is AdamW: expected the same kind",
            () => adamW.Load(folder["adam"]));
        AssertThrows<ArgumentException>(
            $"\"{folder["adamW"]}\" has the state of AdamW, but the optimizer is Adam: expected the same kind",
            () => adam.Load(folder["adamW"]));
        AssertThrows<ArgumentException>(
            $"\"{folder["adamW"]}\" has the state of AdamW, but the optimizer is made by new Sgd: expected the same kind",
            () => sgd.Load(folder["adamW"]));
        AssertThrows<HeedException>(
            $"\"{folder["block"]}\" has no tensor \"sgd.options\": expected a file of Optimizer.Save",
            () => sgd.Load(folder["block"]));
        Assert.Equal(Status.IO, Assert.Throws<HeedException>(() => sgd.Load(folder["nowhere"])).Status);
        Assert.Equal(
            Status.IO, Assert.Throws<HeedException>(() => sgd.Save(Path.Combine(folder["nowhere"], "a"))).Status);
        Assert.Equal(0.25, sgd.LearningRate);
        sgd.Step();
    }

    [Fact]
    public void AStateOfOtherParametersIsRefusedByTheStep()
    {
        using var block = new Linear(2);
        block.Initialize(manager, DataType.Float32, new Shape(4, 3));
        using (var optimizer = new AdamW(block.Parameters))
        {
            optimizer.Step();
            optimizer.Save(folder["optimizer"]);
        }
        using var larger = new Linear(2);
        larger.Initialize(manager, DataType.Float32, new Shape(4, 5));
        using var other = new AdamW(larger.Parameters);
        other.Load(folder["optimizer"]);
        AssertThrows<ArgumentException>(
            "the optimizer has the state of weight with shape (2, 3), but the parameter has shape (2, 5): expected the same",
            other.Step);
    }

    private static MultiHeadAttention NewBlock(NDManager manager)
    {
        var block = new MultiHeadAttention(8, 2, 0, true);
        block.Initialize(manager, DataType.Float32, new Shape(2, 3, 8), new Shape(2, 3, 8), new Shape(2, 3, 8));
        int count = 0;
        foreach (Parameter parameter in block.Parameters.Values)
        {
            using NDArray values = manager.Arange(0f, parameter.Shape!.Size).Add(100 * count++).Sin().Multiply(0.5);
            parameter.SetArray(values.Reshape(parameter.Shape));
        }
        return block;
    }

    private static Optimizer NewOptimizer(string kind, Block block, double rate = 0.01) => kind switch
    {
        "Sgd" => new Sgd(block.Parameters, 2 * rate, momentum: 0.9),
        "Adam" => new Adam(block.Parameters, rate, weightDecay: 0.1),
        _ => new AdamW(block.Parameters, rate),
    };

    private static void Train(NDManager manager, MultiHeadAttention block, Optimizer optimizer, int from, int to)
    {
        for (int step = from; step < to; step++)
        {
            using NDManager ofStep = manager.NewSubManager();
            using NDArray x = ofStep.Arange(0f, 48f).Add(step).Sin().Reshape(2, 3, 8);
            using NDArray y = ofStep.Arange(0f, 48f).Add(step).Cos().Reshape(2, 3, 8);
            using GradientTape tape = ofStep.NewGradientTape();
            tape.Backward(Loss.SquaredError(block.Forward(x, x, x).SingletonOrThrow(), y));
            optimizer.ClipGradients(1);
            optimizer.Step();
            optimizer.ZeroGradients();
        }
    }

    private static int[] Bits(Block block) => block.Parameters.Values
        .SelectMany(each => each.Array.ToFloatArray()).Select(BitConverter.SingleToInt32Bits).ToArray();

    private static void AssertThrows<TError>(string message, Action code)
        where TError : Exception =>
        Assert.StartsWith(message, Assert.Throws<TError>(code).Message, StringComparison.Ordinal);
}
