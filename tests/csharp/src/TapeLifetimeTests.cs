// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Xunit;

namespace Heed.Tests;

/// <summary>How long a gradient tape holds what it needs, and on which threads.</summary>
[Trait(TestDevice.Trait, "cpu")]
public sealed class TapeLifetimeTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly NDArray x;

    public TapeLifetimeTests()
    {
        x = manager.Create(new[] { 1f, -2f, 3f });
        x.RequiresGradient = true;
    }

    public void Dispose() => manager.Dispose();

    [Fact]
    public void AThreadHasOneTape()
    {
        using (GradientTape tape = manager.NewGradientTape())
        {
            Assert.Equal(
                "a gradient tape is open on this thread already: expected it disposed first",
                Assert.Throws<InvalidOperationException>(() => manager.NewGradientTape()).Message);
            NDArray y = x * 2;
            NDArray loss = y.Sum();
            string here = Thread.CurrentThread.Name ?? $"{Environment.CurrentManagedThreadId}";
            Exception? ofUse = null;
            Exception? ofBackward = null;
            OnThread(() =>
            {
                ofUse = Record.Exception(() => y * 2);
                ofBackward = Record.Exception(() => tape.Backward(loss));
                // A leaf is tracked by a tape of the thread alone.
                Assert.Equal(2f, (x * 2)[0].Item<float>());
                using GradientTape other = manager.NewGradientTape();
                other.Backward(x.Sum());
            });
            foreach (Exception? error in new[] { ofUse, ofBackward })
            {
                Assert.Equal(
                    $"the gradient tape belongs to the thread \"{here}\", and \"other\" uses it: expected one for each thread",
                    Assert.IsType<InvalidOperationException>(error).Message);
            }
            tape.Backward(loss);
        }
        Assert.Equal(new[] { 3f, 3f, 3f }, x.Gradient.ToFloatArray());
        using GradientTape next = manager.NewGradientTape();
    }

    [Fact]
    public void ThreadsAddToOneBlock()
    {
        using var linear = new Linear(2, false);
        linear.Initialize(manager, DataType.Float32, new Shape(1, 3));
        Thread[] threads = Enumerable.Range(0, 4).Select(_ => new Thread(() =>
        {
            using NDManager own = manager.NewSubManager();
            using NDArray row = own.Create(new[] { 1f, 2f, 3f }, new Shape(1, 3));
            for (int i = 0; i < 25; i++)
            {
                using GradientTape tape = own.NewGradientTape();
                tape.Backward(linear.Forward(row).Head.Sum());
            }
        })).ToArray();
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Assert.Equal(new[] { 100f, 200f, 300f, 100f, 200f, 300f }, linear.Parameters["weight"].Gradient.ToFloatArray());
    }

    [Fact]
    public void ArraysMayBeDisposedBeforeBackward()
    {
        using GradientTape tape = manager.NewGradientTape();
        NDArray loss;
        using (NDScope scope = manager.NewScope())
        {
            NDArray y = x * manager.Create(new[] { 2f, 3f, 4f });
            loss = scope.Keep(y.Square().Sum());
        }
        using var attention = new DotProductAttention();
        NDArray output;
        using (NDArray rows = x.Reshape(1, 3, 1))
        {
            output = attention.Forward(rows, rows, rows).Head;
        }
        tape.Backward(loss + output.Sum());
        Assert.False(x.Gradient.IsReleased);
        Assert.True(x.Gradient.Abs().Sum().Item<float>() > 100);
    }

    [Fact]
    public void ADisposedManagerClosesTheTape()
    {
        NDManager inner = manager.NewSubManager();
        GradientTape tape = inner.NewGradientTape();
        NDArray y = x * 2;
        inner.Dispose();
        Assert.Throws<ObjectDisposedException>(() => tape.Backward(y.Sum()));
        // It is an ordinary array now.
        Assert.Equal(new[] { 1f, -1f, 1f }, y.Sign().ToFloatArray());
        using (GradientTape next = manager.NewGradientTape())
        {
            next.Backward((y + x).Sum());
        }
        Assert.Equal(new[] { 1f, 1f, 1f }, x.Gradient.ToFloatArray());
    }

    [Fact]
    public void AForgottenTapeIsClosed()
    {
        OnThread(() =>
        {
            Forget();
            for (int i = 0; i < 100; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
                try
                {
                    using GradientTape tape = manager.NewGradientTape();
                    return;
                }
                catch (InvalidOperationException)
                {
                    Thread.Sleep(1);
                }
            }
            Assert.Fail("the forgotten tape is still open");
        });
    }

    [Fact]
    public void GradientsAreComputedWhileTheCollectorRuns()
    {
        using var block = new TransformerEncoderBlock(new TransformerEncoderBlockOptions
        {
            Attention = new MultiHeadAttentionOptions { NumHiddens = 8, NumHeads = 2 },
            FeedForward = new FeedForwardOptions { HiddenSize = 16, OutputSize = 8 },
        });
        block.Initialize(manager, DataType.Float32, new Shape(1, 3, 8));
        Parameter weight = block.Parameters["self_attention.W_q.weight"];
        float[]? expected = null;
        using var collector = new RunningCollector();
        for (int i = 0; i < 20; i++)
        {
            using (GradientTape tape = manager.NewGradientTape())
            {
                NDArray rows = x.Repeat(8).Reshape(1, 3, 8);
                tape.Backward((block.Forward(rows).Head * rows.Exp()).Softmax(-1).Square().Mean());
            }
            float[] found = weight.Gradient.ToFloatArray();
            expected ??= found;
            Assert.Equal(expected, found);
            weight.Gradient.Multiply(0, weight.Gradient);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Forget()
    {
        GradientTape tape = manager.NewGradientTape();
        _ = x * 2;
        GC.KeepAlive(tape);
    }

    private static void OnThread(Action code)
    {
        Exception? error = null;
        var thread = new Thread(() => error = Record.Exception(code)) { Name = "other" };
        thread.Start();
        thread.Join();
        Assert.Null(error);
    }

    [Fact]
    public void LoadedParametersBeginWithGradientsOfZero()
    {
        using var linear = new Linear(2);
        NDArray x = manager.Ones(new Shape(1, 3));
        linear.Initialize(manager, DataType.Float32, x.Shape);
        using var file = new System.IO.MemoryStream();
        linear.Save(file);
        using (GradientTape tape = manager.NewGradientTape())
        {
            tape.Backward(linear.Forward(new ParameterStore(manager, false), new NDList(x), true)[0].Sum());
        }
        Assert.Equal(3, linear.Parameters["weight"].Gradient[0].Sum().ToFloatArray()[0]);
        file.Position = 0;
        linear.Load(file);
        Assert.Equal(0, linear.Parameters["weight"].Gradient[0].Sum().ToFloatArray()[0]);
    }

    [Fact]
    public void AFrozenParameterOfTheProgramLosesItsGradient()
    {
        var parameter = new Parameter("p", ParameterType.Weight);
        parameter.SetArray(manager.Ones(new Shape(2)));
        void Backward()
        {
            using GradientTape tape = manager.NewGradientTape();
            tape.Backward(parameter.Array.Sum());
        }
        Backward();
        parameter.Freeze(true);
        parameter.Freeze(false);
        Backward();
        Assert.Equal(new float[] { 1, 1 }, parameter.Gradient.ToFloatArray());
    }

    [Fact]
    public void AnOutputThatIsTrackedIsNotWritten()
    {
        using var linear = new Linear(3);
        NDArray x = manager.Ones(new Shape(1, 3));
        linear.Initialize(manager, DataType.Float32, x.Shape);
        linear.FreezeParameters(true);
        NDArray leaf = manager.Ones(new Shape(1, 3));
        leaf.RequiresGradient = true;
        using GradientTape tape = manager.NewGradientTape();
        var outputs = new AttentionOutputs { Output = leaf.Multiply(2) };
        Assert.Throws<NotSupportedException>(() => linear.Forward(new AttentionInputs(x), outputs));
    }
}
