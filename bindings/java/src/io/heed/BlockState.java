// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.List;

/**
 * What {@link AbstractBlock#initialize} may change of a block and of the blocks inside: input shapes, and parameters
 * that have no values yet. A call that fails puts it back. Blocks of classes that heed does not know stay as they are.
 */
final class BlockState implements AutoCloseable {
    private final List<Runnable> undo = new ArrayList<>();
    private final List<NativeTensor> snapshots = new ArrayList<>();

    BlockState(Block block) {
        try {
            remember(block);
        } catch (Throwable error) {
            close();
            throw error;
        }
    }

    /** Restores the state. A failure to do so is added to the error that made it necessary, as a suppressed one. */
    void restore(Throwable reason) {
        for (Runnable each : undo) {
            try {
                each.run();
            } catch (RuntimeException error) {
                reason.addSuppressed(error);
            }
        }
    }

    @Override
    public void close() {
        snapshots.forEach(NativeTensor::close);
    }

    private void remember(Block block) {
        if (block instanceof NativeBlock) {
            undo.add(((NativeBlock) block).undo(snapshots));
        } else if (block instanceof AbstractBlock) {
            AbstractBlock composed = (AbstractBlock) block;
            Shape[] shapes = composed.inputShapes;
            undo.add(() -> composed.inputShapes = shapes);
            composed.parameters.values().forEach(parameter -> undo.add(parameter.undo()));
            composed.children.values().forEach(this::remember);
        }
    }
}
