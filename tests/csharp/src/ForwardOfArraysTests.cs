// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

namespace Heed.Tests;

/// <summary>Forward as inference calls it, without a store and without training.</summary>
public class ForwardOfArraysTests
{
    [Fact]
    public void OfHeedsOwnBlocks()
    {
        using NDManager manager = TestDevice.NewManager();
        using var attention = new MultiHeadAttention(8, 2, 0.5f);
        NDArray x = manager.RandomNormal(new Shape(2, 3, 8));
        attention.Initialize(manager, DataType.Float32, x.Shape, x.Shape, x.Shape);
        NDArray lens = manager.Create(new[] { 1, 3 });
        NDArray expected = attention.Forward(new ParameterStore(), new NDList(x, x, x, lens))[0];
        Assert.True(expected.ContentEquals(attention.Forward(x, x, x, lens)[0]));
        expected = attention.Forward(new ParameterStore(), new NDList(x, x, x))[0];
        Assert.True(expected.ContentEquals(attention.Forward(x, x, x, null)[0]));
        Assert.StartsWith(
            "inputs has 0 arrays, expected 3 or 4: queries, keys, values and, optional, validLens",
            Assert.Throws<ArgumentException>("inputs", () => attention.Forward()).Message);
    }

    [Fact]
    public void OfComposedBlocks()
    {
        using NDManager manager = TestDevice.NewManager();
        using var block = new SequentialBlock();
        block.Add(new Linear(4)).Add(new Dropout(0.9f));
        NDArray x = manager.Ones(new Shape(2, 3));
        block.Initialize(manager, DataType.Float32, x.Shape);
        Assert.True(block.Forward(new ParameterStore(), new NDList(x))[0].ContentEquals(block.Forward(x)[0]));
        Assert.Throws<ArgumentNullException>("inputs", () => block.Forward((NDArray[])null!));
    }
}
