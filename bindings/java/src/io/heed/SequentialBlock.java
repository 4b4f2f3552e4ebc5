// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * Blocks one after another: each computes the outputs of the one before. The children have the names of their classes
 * behind their numbers, as "01Linear". Not thread-safe while blocks are added.
 */
public final class SequentialBlock extends AbstractBlock {
    /** Makes a block without children, which gives its inputs back. */
    public SequentialBlock() {}

    /**
     * Adds a block behind the others.
     *
     * @param block the block, which is closed with this one
     * @return this
     * @throws IllegalArgumentException if the block is this block or contains it
     */
    public SequentialBlock add(Block block) {
        addChildBlock(Objects.requireNonNull(block, "block").getClass().getSimpleName(), block);
        return this;
    }

    /**
     * Adds blocks behind the others, in their order.
     *
     * @param blocks the blocks, which are closed with this one
     * @return this
     * @throws IllegalArgumentException if a block is this block or contains it
     */
    public SequentialBlock addAll(Block... blocks) {
        for (Block block : Objects.requireNonNull(blocks, "blocks")) {
            add(block);
        }
        return this;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        NDList current = inputs;
        for (Block block : children.values()) {
            current = block.forward(parameterStore, current, training, params);
        }
        return current;
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape[] shapes = inputShapes;
        for (Block block : children.values()) {
            block.initialize(manager, dataType, shapes);
            shapes = block.getOutputShapes(shapes);
        }
    }

    /**
     * Returns the shapes of the outputs of the last block for inputs of these shapes.
     *
     * @param inputShapes the shape of each input
     * @return the shape of each output
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape[] shapes = Objects.requireNonNull(inputShapes, "inputShapes").clone();
        for (Block block : children.values()) {
            shapes = block.getOutputShapes(shapes);
        }
        return shapes;
    }
}
