// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.List;

/**
 * The state of a block and of the blocks inside it that {@link AbstractBlock#initialize} may change: input shapes, and
 * parameters that have no values yet. A call that fails restores it. Blocks of classes that heed does not know are not
 * restored.
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

    /** Restores the state. If that fails, the exception is added to `reason` as a suppressed one. */
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
