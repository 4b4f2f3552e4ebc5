// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Xunit;

namespace Heed.Tests;

/// <summary>Blocks one after another.</summary>
public sealed class SequentialBlockTests : IDisposable
{
    private readonly TransformerScene scene = new TransformerScene();

    public void Dispose() => scene.Dispose();

    [Fact]
    public void EachBlockReadsWhatTheOneBeforeGives()
    {
        using SequentialBlock block = NewBlock();
        NDArray ids = scene.Manager.Create(new[] { 4, 0, 2 }, new Shape(1, 3));
        block.Initialize(scene.Manager, DataType.Float32, ids.Shape);
        Assert.Equal(new[] { "01Embedding", "02SequentialBlock", "03Linear" }, block.Children.Keys);
        Assert.Contains("02SequentialBlock_01LayerNorm_weight", block.Parameters.Keys);
        NDArray rows = scene.Run(block.Children["01Embedding"], ids);
        rows = scene.Run(block.Children["02SequentialBlock"], rows);
        NDArray found = scene.Run(block, ids);
        Assert.Equal(new Shape(1, 3, 2), found.Shape);
        Assert.Equal(scene.Run(block.Children["03Linear"], rows).ToFloatArray(), found.ToFloatArray());
        Assert.Equal(new[] { found.Shape }, block.GetOutputShapes(new[] { ids.Shape }));
        Assert.Equal(
            new[] { found.Shape }, block.GetOutputShapes(new[] { ids.Shape }, new[] { DataType.Int32 }));

        using var saved = new MemoryStream();
        block.SaveParameters(saved);
        saved.Position = 0;
        using SequentialBlock copy = NewBlock();
        copy.LoadParameters(scene.Manager, saved);
        Assert.Equal(found.ToFloatArray(), scene.Run(copy, ids).ToFloatArray());
    }

    [Fact]
    public void DropoutIsActiveInTraining()
    {
        using SequentialBlock block = new SequentialBlock().Add(new Dropout(0.5f));
        NDArray x = scene.Manager.Ones(new Shape(64));
        Assert.Equal(x.ToFloatArray(), block.Forward(scene.Store, new NDList(x))[0].ToFloatArray());
        Assert.Contains(0, block.Forward(scene.Store, new NDList(x), training: true)[0].ToFloatArray());
    }

    [Fact]
    public void WithoutBlocksItGivesItsInputs()
    {
        using var block = new SequentialBlock();
        NDArray x = scene.Random(2, 3);
        block.Initialize(scene.Manager, DataType.Float32, x.Shape);
        Assert.Same(x, scene.Run(block, x));
        Assert.Equal(new[] { x.Shape }, block.GetOutputShapes(new[] { x.Shape }));
        Assert.Throws<ArgumentException>(() => block.GetOutputShapes(new Shape?[] { null }));
        Assert.Throws<ArgumentNullException>(() => block.Add(null!));
        Assert.Throws<ArgumentNullException>(() => block.AddAll(null!));
        Assert.Throws<ArgumentException>(() => block.Add(block));
        Assert.Empty(block.Children);
    }

    [Fact]
    public void DisposesItsBlocks()
    {
        var linear = new Linear(2);
        var block = new SequentialBlock().AddAll(linear, new Dropout());
        block.Dispose();
        Assert.Throws<ObjectDisposedException>(() => linear.IsInitialized);
        Assert.Throws<ObjectDisposedException>(() => scene.Run(block, scene.Random(1, 2)));
    }

    private static SequentialBlock NewBlock() => new SequentialBlock()
        .Add(new Embedding(new EmbeddingOptions { NumEmbeddings = 5, EmbeddingSize = 4 }))
        .Add(new SequentialBlock().AddAll(new LayerNorm(), new FeedForward(new FeedForwardOptions { HiddenSize = 8 })))
        .Add(new Linear(2));
}
