// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>Blocks one after another: each computes from the outputs of the one before. Forward takes the list of the
/// first block, and gives that of the last one; without blocks it gives its inputs.</summary>
/// <remarks>Its children have the names of their classes behind their numbers, as "01Linear" and "02FeedForward". The
/// arrays that go from block to block stay open until their manager, or the garbage collector, frees them.</remarks>
public sealed class SequentialBlock : AbstractBlock
{
    private readonly List<Block> blocks = new List<Block>();

    /// <summary>Makes a block without children.</summary>
    public SequentialBlock()
    {
    }

    /// <summary>Adds a block after the others. Not while another thread uses this block.</summary>
    /// <param name="block">The block, which is disposed with this one.</param>
    /// <returns>This block.</returns>
    /// <exception cref="ArgumentException">The block is this block or contains it.</exception>
    public SequentialBlock Add(Block block)
    {
        _ = block ?? throw new ArgumentNullException(nameof(block));
        AddChildBlock(block.GetType().Name, block);
        blocks.Add(block);
        return this;
    }

    /// <summary>Adds blocks after the others, in their order.</summary>
    /// <param name="blocks">The blocks.</param>
    /// <returns>This block.</returns>
    /// <exception cref="ArgumentException">One of the blocks is this block or contains it; those before it are
    /// added.</exception>
    public SequentialBlock AddAll(params Block[] blocks)
    {
        foreach (Block block in blocks ?? throw new ArgumentNullException(nameof(blocks)))
        {
            Add(block);
        }
        return this;
    }

    /// <inheritdoc/>
    public override Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null)
    {
        _ = inputShapes ?? throw new ArgumentNullException(nameof(inputShapes));
        Shape?[] shapes = inputShapes;
        DataType[]? types = dataTypes;
        foreach (Block block in blocks)
        {
            shapes = block.GetOutputShapes(shapes, types);
            types = null;
        }
        return Array.ConvertAll(
            shapes,
            shape => shape ?? throw new ArgumentException(
                "inputShapes has null, and there are no blocks", nameof(inputShapes)));
    }

    /// <inheritdoc/>
    protected override NDList ForwardInternal(
        ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters)
    {
        NDList list = inputs;
        foreach (Block block in blocks)
        {
            list = block.Forward(parameterStore, list, training, parameters);
        }
        return list;
    }

    /// <inheritdoc/>
    protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        Shape?[] shapes = inputShapes;
        foreach (Block block in blocks)
        {
            block.Initialize(manager, dataType, shapes);
            shapes = block.GetOutputShapes(shapes);
        }
    }
}
