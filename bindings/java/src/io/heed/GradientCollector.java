// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.Reference;
import java.util.Objects;

/**
 * Records what its thread computes, from {@link Engine#newGradientCollector} to {@link #close}, and computes gradients of
 * it.
 *
 * <pre>{@code
 * NDArray x = manager.create(new float[] {1, 2, 3});
 * x.setRequiresGradient(true);
 * try (GradientCollector collector = Engine.getInstance().newGradientCollector()) {
 *     NDArray y = x.square().sum();
 *     collector.backward(y);
 * }
 * x.getGradient(); // (2, 4, 6)
 * }</pre>
 *
 * <p>It follows arrays with {@link NDArray#setRequiresGradient}, parameters that are not frozen, and everything that is
 * computed from them. An operation without a gradient throws UnsupportedOperationException if it is given an array that is
 * followed: {@link NDArray#stopGradient} takes one out. docs/training.md lists the operations. Elements may always be
 * read. Writes through a buffer of {@link NDArray#toFloatBuffer} are not seen: elements that backward needs must stay as
 * they are.
 *
 * <p>What it holds is freed when it is closed, or with the base manager of the first array that it records. It is used by
 * the thread that has opened it, and a thread has one at a time.
 */
public final class GradientCollector implements AutoCloseable {
    private final Tape tape;

    GradientCollector(NDManager owner) {
        tape = new Tape(owner);
        NativeHandle.CLEANER.register(this, tape::close);
    }

    /**
     * Computes the gradients of the sum of all elements of an array, and adds them to those of every array and parameter
     * that requires one and that it was computed from: {@link NDArray#getGradient}. What lies between is then freed, so that
     * another call through the same operations is refused. If the call fails while it computes, some of the gradients may have
     * been added; parameters are as they were.
     *
     * @param target an array that was computed under this collector, such as a loss
     * @throws IllegalArgumentException if it was not, or was computed from nothing that requires a gradient
     * @throws IllegalStateException if an array that the gradients are made of was written since, if backward has been
     *     computed through one of the operations already, on another thread than the collector's, or if the collector or target
     *     is closed; no gradient has changed
     */
    public void backward(NDArray target) {
        try {
            tape.backward(Objects.requireNonNull(target, "target"));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Sets the gradients of all arrays and parameters to 0 that were used under this collector and require one.
     *
     * @throws IllegalStateException on another thread than the collector's, or if it is closed
     */
    public void zeroGradients() {
        tape.zeroGradients();
    }

    /** Ends the recording and frees all that was held for gradients. Closing twice does nothing. */
    @Override
    public void close() {
        tape.close();
    }
}
