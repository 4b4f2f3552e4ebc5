// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>The attention weights and log-sum-exps of attentions inside a block.</summary>
public sealed class TapsTests : IDisposable
{
    private const string First = "layers.0.self_attention";
    private const string Second = "layers.1.self_attention";

    private readonly TransformerScene scene = new TransformerScene();
    private readonly TransformerEncoder encoder = new TransformerEncoder(new TransformerEncoderOptions
    {
        Layer = TransformerScene.EncoderLayer(), NumLayers = 2,
    });

    private readonly NDArray x;
    private readonly NDArray lens;

    public TapsTests()
    {
        x = scene.Random(2, 3, TransformerScene.Size);
        lens = scene.Manager.Create(new[] { 3, 2 });
        scene.Ready(encoder, x, null);
    }

    public void Dispose()
    {
        encoder.Dispose();
        scene.Dispose();
    }

    /// <summary>The rows that layers.1 reads are the output of layers.0, so its attention by itself gives what the tap
    /// gives.</summary>
    [Fact]
    public void GiveWhatTheAttentionByItselfGives()
    {
        NDArray untapped = scene.Run(encoder, x, lens);
        Taps taps = new Taps(Second).Add(First, Wanted.LogSumExp | Wanted.Weights);
        Assert.Empty(taps.Weights);
        Same(untapped, encoder.Forward(scene.Store, new NDList(x, lens), taps).SingletonOrThrow());
        Assert.Equal(new[] { Second, First }, taps.Children);
        Assert.Equal(new[] { First, Second }, taps.Weights.Keys.OrderBy(name => name, StringComparer.Ordinal));
        Assert.Equal(new[] { First }, taps.LogSumExps.Keys);

        var layer = (NativeBlock)encoder.Children["layers.0"];
        AttentionOutputs first = OfAttention(layer, x);
        Same(first.Weights!, taps.Weights[First]);
        Same(first.LogSumExp!, taps.LogSumExps[First]);
        AttentionOutputs second = OfAttention((NativeBlock)encoder.Children["layers.1"], scene.Run(layer, x, lens));
        Same(second.Weights!, taps.Weights[Second]);
        Assert.Same(scene.Manager, taps.Weights[First].Manager);

        // A layer of the stack takes the names of its own children.
        var ofLayer = new Taps("self_attention");
        layer.Forward(scene.Store, new NDList(x, lens), ofLayer);
        Same(first.Weights!, ofLayer.Weights["self_attention"]);

        // The next call makes new arrays; the first ones stay open.
        NDArray before = taps.Weights[First];
        encoder.Forward(scene.Store, new NDList(x), taps);
        Assert.NotSame(before, taps.Weights[First]);
        Same(first.Weights!, before);
        taps.Dispose();
        Assert.True(taps.Weights[First].IsReleased);
        Assert.False(before.IsReleased);
    }

    [Fact]
    public void OfExistingArraysAreWrittenByEachCall()
    {
        var inputs = new AttentionInputs { Queries = x, ValidLens = lens };
        var taps = new Taps(First, Second);
        encoder.CreateTaps(inputs, taps);
        AttentionOutputs outputs = encoder.CreateOutputs(inputs);
        Assert.Null(outputs.Taps);
        outputs.Taps = taps;
        NDArray weights = taps.Weights[Second];
        using Workspace workspace = scene.Manager.NewWorkspace(encoder.WorkspaceSize(inputs, outputs));
        encoder.Forward(inputs, outputs, workspace);
        float[] before = weights.ToFloatArray();
        inputs.Queries = scene.Random(2, 3, TransformerScene.Size);
        encoder.Forward(inputs, outputs, workspace);
        Assert.Same(weights, taps.Weights[Second]);
        var made = new Taps(Second);
        encoder.Forward(scene.Store, new NDList(inputs.Queries, lens), made);
        Same(made.Weights[Second], weights);
        Assert.NotEqual(before, weights.ToFloatArray());
        Assert.Contains("self_attention", encoder.Explain(inputs, outputs));

        // The next calls have none.
        outputs.Taps = null;
        encoder.Forward(inputs, outputs);
        Same(scene.Run(encoder, inputs.Queries, lens), outputs.Output!);
    }

    [Fact]
    public void OfADecoderHaveBothAttentions()
    {
        using var decoder = new TransformerDecoderBlock(TransformerScene.DecoderLayer());
        NDArray memory = scene.Random(2, 5, TransformerScene.Size);
        scene.Ready(decoder, x, memory);
        var taps = new Taps("self_attention", "cross_attention");
        decoder.Forward(scene.Store, new NDList(x, memory), taps);
        Assert.Equal(new Shape(2, 2, 3, 3), taps.Weights["self_attention"].Shape);
        NDArray cross = taps.Weights["cross_attention"];
        Assert.Equal(new Shape(2, 4, 3, 5), cross.Shape);
        float[] weights = cross.ToFloatArray();
        for (int row = 0; row < weights.Length; row += 5)
        {
            Assert.Equal(1, weights.Skip(row).Take(5).Sum(), 1e-5f);
        }
    }

    /// <summary>Weights of a step over a cache are the last rows of those of the whole.</summary>
    [Fact]
    public void OfAModelWithACache()
    {
        using var model = new ModelFolder("llama");
        NDArray ids = model.Manager.Create(new[] { 5, 9, 2, 7 }, new Shape(1, 4));
        var whole = new Taps(Second);
        model.Block.Forward(model.Store, new NDList(ids), whole);
        using var cache = new KvCache(model.Manager, new KvCacheOptions(model.Block) { Capacity = 8 });
        var inputs = new AttentionInputs { Queries = ids.Slice(1, 0, 3), Cache = cache };
        model.Run(inputs);
        inputs.Queries = ids.Slice(1, 3, 1);
        var step = new Taps(Second);
        model.Block.CreateTaps(inputs, step);
        AttentionOutputs outputs = model.Block.CreateOutputs(inputs);
        outputs.Taps = step;
        model.Block.Forward(inputs, outputs);
        NDArray last = whole.Weights[Second].Slice(2, 3, 1);
        Assert.Equal(last.Shape, step.Weights[Second].Shape);
        Assert.All(
            last.ToFloatArray().Zip(step.Weights[Second].ToFloatArray()),
            pair => Assert.Equal(pair.First, pair.Second, 1e-6f));
    }

    [Fact]
    public void AreRefusedByName()
    {
        var list = new NDList(x, lens);
        var unknown = new Taps(First, "layers.2.self_attention");
        Says<HeedException>(
            "child ends in \"layers.2.self_attention\", which is no child of a TransformerEncoder; it has \"layers.0\", "
            + "\"layers.1\"",
            () => encoder.Forward(scene.Store, list, unknown));
        Assert.Empty(unknown.Weights);
        Says<ArgumentException>(
            "child is \"layers.0.norm_1\", which is no attention: expected a child with weights",
            () => encoder.Forward(scene.Store, list, new Taps("layers.0.norm_1")));
        Says<ArgumentException>(
            "wanted is Wanted.Output, Wanted.Weights for the child \"layers.0.self_attention\", expected Wanted.Weights, "
                + "Wanted.LogSumExp or both",
            () => new Taps().Add(First, Wanted.Weights | Wanted.Output));
        Says<ArgumentException>(
            "wanted is 0 for the child \"layers.0.self_attention\", expected Wanted.Weights, Wanted.LogSumExp or both",
            () => new Taps().Add(First, 0));
        var inputs = new AttentionInputs { Queries = x };
        AttentionOutputs outputs = encoder.CreateOutputs(inputs);
        outputs.Taps = new Taps(First);
        Says<ArgumentException>(
            "the taps have no array for \"layers.0.self_attention\", expected those of CreateTaps",
            () => encoder.Forward(inputs, outputs));

        Taps taps = new Taps(First).Add(Second, Wanted.LogSumExp);
        encoder.CreateTaps(inputs, taps);
        outputs.Taps = taps;
        encoder.Forward(inputs, outputs);
        inputs.Queries = x.Slice(1, 0, 2);
        AttentionOutputs smaller = encoder.CreateOutputs(inputs);
        smaller.Taps = taps;
        Says<ArgumentException>(
            "Taps[0].Weights has shape (2, 2, 3, 3), expected (2, 2, 2, 2)", () => encoder.Forward(inputs, smaller));
        smaller.Taps = new Taps().Add(Second, Wanted.LogSumExp);
        encoder.CreateTaps(new AttentionInputs { Queries = x }, smaller.Taps);
        Says<ArgumentException>(
            "Taps[0].LogSumExp has shape (2, 2, 3), expected (2, 2, 2)", () => encoder.Forward(inputs, smaller));
        taps.Dispose();
        var closed = Assert.Throws<ObjectDisposedException>(
            () => encoder.Forward(new AttentionInputs { Queries = x }, outputs));
        Assert.Contains("the array Weights is closed", closed.Message);
    }

    private static void Says<TException>(string sentence, Action call)
        where TException : Exception =>
        Assert.StartsWith(sentence, Assert.Throws<TException>(call).Message, StringComparison.Ordinal);

    private static void Same(NDArray expected, NDArray found)
    {
        Assert.Equal(expected.Shape, found.Shape);
        Assert.Equal(expected.ToFloatArray(), found.ToFloatArray());
    }

    /// <summary>What the attention of a layer computes by itself for rows.</summary>
    private AttentionOutputs OfAttention(NativeBlock layer, NDArray rows)
    {
        var attention = (NativeBlock)layer.Children["self_attention"];
        var inputs = new AttentionInputs { Queries = rows, ValidLens = lens };
        AttentionOutputs outputs = attention.CreateOutputs(inputs, Wanted.Weights | Wanted.LogSumExp);
        attention.Forward(inputs, outputs);
        return outputs;
    }
}
