// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using Xunit;

namespace Heed.Tests;

/// <summary>A long training keeps nothing of its steps, which all make the same few objects.</summary>
public sealed class LongTrainingTests : IDisposable
{
    private const int NumSteps = 10_000;

    /// <summary>After these the runtime has compiled what it will.</summary>
    private const int FirstSteps = 4000;

    /// <summary>A step makes fewer bytes of objects.</summary>
    private const long MaxBytes = 20_000;

    /// <summary>What the process may grow by in 6,000 steps, each of which saves some 7 KB: other tests run beside it.</summary>
    private const long MaxGrowth = 24 << 20;

    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void TenThousandStepsOfATransformer()
    {
        var ids = new Shape(2, 4);
        using Transformer transformer = NewTransformer();
        NDArray tokens = manager.Create(new long[] { 0, 1, 2, 3, 4, 3, 2, 1 }, ids);
        transformer.Initialize(manager, DataType.Float32, ids, ids);
        using var optimizer = new AdamW(transformer.Parameters);
        Run(transformer, optimizer, tokens, FirstSteps);
        long memory = ResidentBytes();
        long perStep = Run(transformer, optimizer, tokens, 1000);
        Run(transformer, optimizer, tokens, NumSteps - FirstSteps - 2000);
        long perLateStep = Run(transformer, optimizer, tokens, 1000);
        // The compiler may find later that some objects are not needed.
        Assert.InRange(perLateStep, 0, perStep + (perStep / 50) + 64);
        Assert.InRange(perStep, 0, MaxBytes);
        Assert.InRange(ResidentBytes() - memory, long.MinValue, MaxGrowth);
    }

    private static Transformer NewTransformer()
    {
        var attention = new MultiHeadAttentionOptions { NumHiddens = 8, NumHeads = 2 };
        var feedForward = new FeedForwardOptions { HiddenSize = 8 };
        return new Transformer(new TransformerOptions
        {
            Encoder = new TransformerEncoderOptions
            {
                Layer = new TransformerEncoderBlockOptions { Attention = attention, FeedForward = feedForward },
                NumLayers = 1,
            },
            Decoder = new TransformerDecoderOptions
            {
                Layer = new TransformerDecoderBlockOptions
                {
                    SelfAttention = attention,
                    CrossAttention = attention,
                    FeedForward = feedForward,
                },
                NumLayers = 1,
            },
            Embedding = new EmbeddingOptions { NumEmbeddings = 5 },
            Output = new OutputOptions { Size = 5 },
        });
    }

    private static long ResidentBytes()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        using Process process = Process.GetCurrentProcess();
        return process.WorkingSet64;
    }

    /// <summary>Returns how many bytes of objects a step has made.</summary>
    private long Run(Transformer transformer, AdamW optimizer, NDArray tokens, int numSteps)
    {
        var store = new ParameterStore(manager, false);
        var inputs = new NDList(tokens, tokens);
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < numSteps; i++)
        {
            using (GradientTape tape = manager.NewGradientTape())
            {
                using NDList logits = transformer.Forward(store, inputs, training: true);
                using NDArray loss = Loss.CrossEntropy(logits[0], tokens);
                tape.Backward(loss);
            }
            optimizer.Step();
            optimizer.ZeroGradients();
        }
        return (GC.GetAllocatedBytesForCurrentThread() - before) / numSteps;
    }
}
