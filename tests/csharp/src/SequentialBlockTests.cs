// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Xunit;

namespace Heed.Tests;

/// <summary>The parameters of blocks one after another in a stream; tests/bindings/cases/sequential_block.txt has the
/// rest.</summary>
public sealed class SequentialBlockTests : IDisposable
{
    private readonly NDManager manager = NDManager.NewBaseManager();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void ParametersAreReadFromAStream()
    {
        using SequentialBlock block = NewBlock();
        var ids = new NDList(manager.Create(new[] { 4, 0, 2 }, new Shape(1, 3)));
        var store = new ParameterStore();
        block.Initialize(manager, DataType.Float32, ids.GetShapes());
        using var saved = new MemoryStream();
        block.SaveParameters(saved);
        saved.Position = 0;
        using SequentialBlock copy = NewBlock();
        copy.LoadParameters(manager, saved);
        Assert.Equal(block.Forward(store, ids)[0].ToFloatArray(), copy.Forward(store, ids)[0].ToFloatArray());
    }

    private static SequentialBlock NewBlock() => new SequentialBlock()
        .Add(new Embedding(new EmbeddingOptions { NumEmbeddings = 5, EmbeddingSize = 4 }))
        .Add(new SequentialBlock().AddAll(new LayerNorm(), new FeedForward(new FeedForwardOptions { HiddenSize = 8 })))
        .Add(new Linear(2));
}
