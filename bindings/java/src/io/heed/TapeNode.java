// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** An operation on a {@link Tape}: what it was computed from, and what its gradients will need. */
abstract class TapeNode {
    /** An array as it was when the operation read it. */
    private static final class Held {
        final String name;
        final NDArray view;
        final AtomicInteger version;
        final int seen;

        Held(String name, NDArray view, AtomicInteger version) {
            this.name = name;
            this.view = view;
            this.version = version;
            seen = version.get();
        }
    }

    final Tape tape;
    final String operation;
    /** Its index on the tape. */
    int place;

    private final List<Held> held = new ArrayList<>(2);
    /** For each input the node that computed it, the leaf that it is, or null. */
    private Object[] sources = {};

    private Shape[] shapes = {};
    private DataType[] dataTypes = {};
    /** The sum of the gradients so far, while gradients go back. */
    private NDArray gradient;

    private boolean isWalked;

    TapeNode(Tape tape, String operation) {
        this.tape = tape;
        this.operation = operation;
    }

    // ---- Recording --------------------------------------------------------------------------------------------------

    /** Sets what the operation reads; null where an input is missing. */
    final void setInputs(ArrayData[] inputs) {
        sources = new Object[inputs.length];
        shapes = new Shape[inputs.length];
        dataTypes = new DataType[inputs.length];
        for (int i = 0; i < inputs.length; i++) {
            if (inputs[i] != null && Tape.tracks(inputs[i])) {
                TapeNode node = inputs[i].node();
                boolean isComputed = node != null && node.tape == tape;
                if (isComputed) {
                    node.checkRecordable();
                } else {
                    tape.add(inputs[i].leaf());
                }
                sources[i] = isComputed ? node : inputs[i].leaf();
                shapes[i] = inputs[i].shape;
                dataTypes[i] = inputs[i].dataType;
            }
        }
    }

    /** Whether an input has a gradient. */
    final boolean tracks(int input) {
        return sources[input] != null;
    }

    final int numInputs() {
        return sources.length;
    }

    final Shape shapeOf(int input) {
        return shapes[input];
    }

    final DataType dataTypeOf(int input) {
        return dataTypes[input];
    }

    /** A view of an array, which must not be written before the gradients are computed. */
    final NDArray hold(String name, ArrayData array) {
        NDManager manager = tape.managerOn(array.manager().getDevice());
        NDArray view = array.viewIn(manager);
        held.add(new Held(name, view, array.version()));
        return view;
    }

    /** Throws if an array with this node has no gradient at all. */
    void checkRecordable() {}

    // ---- Going back -------------------------------------------------------------------------------------------------

    final void markInputs(BitSet needed) {
        for (Object source : sources) {
            if (source instanceof TapeNode) {
                needed.set(((TapeNode) source).place);
            }
        }
    }

    /** Throws if the gradients cannot be computed. */
    void check() {
        checkRecordable();
        if (isWalked) {
            throw new IllegalStateException("backward has been computed through " + operation
                    + " already: expected another forward before it");
        }
        for (Held each : held) {
            if (each.version.get() != each.seen) {
                throw new IllegalStateException(each.name + " of " + operation
                        + " has been written since: expected the same elements until backward");
            }
        }
        for (Object source : sources) {
            if (source instanceof GradientLeaf) {
                ((GradientLeaf) source).check();
            }
        }
    }

    /** Adds a gradient of the result, of which this becomes the owner. */
    final void give(NDArray added) {
        if (gradient == null) {
            gradient = added;
            return;
        }
        try (NDArray before = gradient;
                NDArray other = added) {
            gradient = null;
            gradient = before.add(other);
        }
    }

    /** Passes the gradients on to the inputs, and frees what they needed. */
    final void walk() {
        isWalked = true;
        try (NDArray whole = gradient) {
            gradient = null;
            if (whole != null) {
                backward(whole);
            }
        } finally {
            release();
        }
    }

    /** Computes the gradients of the tracked inputs from that of the result, and passes each to {@link #give(int, NDArray)}. */
    abstract void backward(NDArray whole);

    /** Passes a gradient to an input, which becomes its owner. */
    final void give(int input, NDArray part) {
        Object source = sources[input];
        if (source instanceof TapeNode) {
            ((TapeNode) source).give(part);
            return;
        }
        try (NDArray addend = part) {
            ((GradientLeaf) source).add(addend);
        }
    }

    final void dropGradient() {
        if (gradient != null) {
            gradient.close();
            gradient = null;
        }
    }

    /** Frees what the gradients needed. */
    void release() {
        held.forEach(each -> each.view.close());
        held.clear();
        sources = new Object[0];
    }
}
