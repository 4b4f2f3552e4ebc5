// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * What one thread computes under a {@link GradientCollector}, operation by operation, and how gradients go back through it.
 * A manager of its own owns what it holds until then, so that it needs no array of the program to stay open. Without an
 * open tape in the process, a call asks only for their number.
 */
final class Tape {
    static final String CLOSED = "the gradient collector is closed";

    /** How many are open in the process. */
    private static final AtomicInteger OPEN = new AtomicInteger();

    private static final ThreadLocal<Tape> CURRENT = new ThreadLocal<>();

    private final Thread thread = Thread.currentThread();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final List<TapeNode> nodes = new ArrayList<>();
    /** Everything that a gradient may have been added to. */
    private final Set<GradientSum> sums = Collections.newSetFromMap(new IdentityHashMap<>());
    /** The owner of all that the tape holds; null before it holds anything. */
    private volatile NDManager manager;
    /** Above 0 while this thread computes something that is not recorded. */
    private int pauses;

    /**
     * Opens a tape on this thread.
     *
     * @param owner the manager with which the tape is closed; null: the base manager of the first array that it records
     */
    Tape(NDManager owner) {
        if (current() != null) {
            throw new IllegalStateException(
                    "a gradient collector is open on this thread already: expected it closed first");
        }
        manager = owner == null ? null : owner.newSubManager();
        OPEN.incrementAndGet();
        CURRENT.set(this);
    }

    // ---- What calls ask ---------------------------------------------------------------------------------------------

    static boolean areAnyOpen() {
        return OPEN.get() != 0;
    }

    /** Refuses an array, which may be null, that a tape follows, for a call that has no gradient. */
    static void refuse(String operation, NDArray array) {
        if (OPEN.get() != 0 && array != null && tracks(array.data())) {
            throw noGradient(operation);
        }
    }

    /** Refuses an argument for which a call has no gradient. */
    static void refuseArgument(String operation, ArrayData array) {
        if (OPEN.get() != 0 && tracks(array)) {
            throw noGradient(operation);
        }
    }

    /** Refuses an array, which may be null, that a tape follows, for a call that writes to an array that exists. */
    static void refuseInto(String operation, NDArray array) {
        if (OPEN.get() != 0 && array != null && tracks(array.data())) {
            throw intoExisting(operation);
        }
    }

    static UnsupportedOperationException intoExisting(String operation) {
        return new UnsupportedOperationException(operation
                + " writes into an array that exists, which a gradient collector does not follow: expected the form "
                + "that makes a new array");
    }

    static UnsupportedOperationException noGradient(String operation) {
        return new UnsupportedOperationException(operation
                + " has no gradient, and its array is computed under a gradient collector: expected an operation that "
                + "docs/training.md lists, or stopGradient() of the array");
    }

    /** Whether this thread's tape follows an array. Throws if another thread's does. */
    static boolean tracks(ArrayData array) {
        TapeNode node = array.node();
        if (node != null && node.tape.isOpen()) {
            node.tape.checkThread();
            return node.tape.pauses == 0;
        }
        GradientLeaf leaf = array.leaf();
        return leaf != null && leaf.isWanted() && recording() != null;
    }

    /** The tape that records a call with an array; null: none does. */
    static Tape following(ArrayData array) {
        return OPEN.get() != 0 && tracks(array) ? CURRENT.get() : null;
    }

    static Tape following(ArrayData array, ArrayData other) {
        if (OPEN.get() == 0) {
            return null;
        }
        // Both are asked, since either may be another thread's.
        boolean isFirst = tracks(array);
        return tracks(other) || isFirst ? CURRENT.get() : null;
    }

    /** The same for any number of arrays, which may be null. */
    static Tape following(NDArray... arrays) {
        if (OPEN.get() == 0) {
            return null;
        }
        boolean follows = false;
        for (NDArray array : arrays) {
            follows |= array != null && tracks(array.data());
        }
        return follows ? CURRENT.get() : null;
    }

    /** The open tape of this thread, unless it is paused; null: there is none. */
    static Tape recording() {
        Tape tape = current();
        return tape == null || tape.pauses != 0 ? null : tape;
    }

    private static Tape current() {
        if (OPEN.get() == 0) {
            return null;
        }
        Tape tape = CURRENT.get();
        if (tape != null && !tape.isOpen()) {
            tape.close();
            CURRENT.remove();
            return null;
        }
        return tape;
    }

    /** Computes something of which this thread's tape records nothing. */
    static <T> T unrecorded(Supplier<T> computation) {
        Tape tape = current();
        if (tape == null) {
            return computation.get();
        }
        tape.pauses++;
        try {
            return computation.get();
        } finally {
            tape.pauses--;
        }
    }

    boolean isOpen() {
        NDManager owner = manager;
        return !closed.get() && (owner == null || owner.isOpen());
    }

    void checkThread() {
        if (thread != Thread.currentThread()) {
            throw new IllegalStateException("the gradient collector belongs to the thread \"" + thread.getName()
                    + "\", and \"" + Thread.currentThread().getName() + "\" uses it: expected one for each thread");
        }
    }

    private void checkUsable() {
        checkThread();
        if (!isOpen()) {
            throw new IllegalStateException(CLOSED);
        }
    }

    // ---- Recording --------------------------------------------------------------------------------------------------

    /**
     * Records the call that has computed an array.
     *
     * @param operation its name in messages
     * @param result its result, which is closed if this fails; it is only returned if the tape is closed meanwhile
     * @param inputs its arrays, of which the tape follows at least one
     * @param rule holds what the gradients will need, and returns how they are computed
     * @return the result
     */
    NDArray record(
            String operation, NDArray result, ArrayData[] inputs, Function<ArrayNode, ArrayNode.Rule> rule) {
        ArrayNode node = new ArrayNode(this, operation);
        return record(node, result, inputs, () -> node.setRule(rule.apply(node)));
    }

    NDArray record(String operation, NDArray result, ArrayData input, Function<ArrayNode, ArrayNode.Rule> rule) {
        return record(operation, result, new ArrayData[] {input}, rule);
    }

    /** Records a node. `holding` makes it hold what its gradients will need. */
    NDArray record(TapeNode node, NDArray result, ArrayData[] inputs, Runnable holding) {
        try {
            openManager(result.data());
            node.setInputs(inputs);
            holding.run();
        } catch (Throwable error) {
            node.release();
            if (error instanceof IllegalStateException && !isOpen()) {
                // It was closed just now, with its manager or because the program has lost it: nothing can go back through it.
                return result;
            }
            result.close();
            throw error;
        }
        add(node);
        result.data().setNode(node);
        return result;
    }

    private void add(TapeNode node) {
        node.place = nodes.size();
        nodes.add(node);
    }

    /** Remembers where gradients may be added. */
    void add(GradientSum sum) {
        sums.add(sum);
    }

    /** Marks an output of a recorded call that has no gradient; null: there is none. */
    void mark(String output, NDArray array) {
        if (array != null) {
            UntrackedOutput node = new UntrackedOutput(this, output);
            add(node);
            array.data().setNode(node);
        }
    }

    /** Makes the tape the owner of a native object. */
    void own(NativeHandle handle) {
        manager.own(handle);
    }

    private void openManager(ArrayData first) {
        if (manager == null) {
            NDManager owner = first.manager();
            while (owner.getParentManager() != null) {
                owner = owner.getParentManager();
            }
            manager = owner.newSubManager(first.manager().getDevice());
        }
    }

    /** The owner of what the tape holds on a device. */
    NDManager managerOn(Device device) {
        return manager.on(device);
    }

    // ---- Going back -------------------------------------------------------------------------------------------------

    /** Adds to the gradients of all leaves that a target was computed from those of the sum of its elements. */
    void backward(NDArray target) {
        checkUsable();
        NDArray.tensorOf(target, "target");
        ArrayData end = target.data();
        TapeNode last = end.node();
        if (last == null || last.tape != this) {
            throw new IllegalArgumentException(
                    "target was not computed under this gradient collector from anything that requires a gradient");
        }
        BitSet needed = needed(last);
        for (int place = needed.length() - 1; place >= 0; place = needed.previousSetBit(place - 1)) {
            nodes.get(place).check();
        }
        pauses++;
        try {
            last.give(managerOn(end.manager().getDevice()).ones(end.shape, end.dataType));
            for (int place = last.place; place >= 0; place = needed.previousSetBit(place - 1)) {
                nodes.get(place).walk();
            }
        } finally {
            pauses--;
            for (int place = needed.length() - 1; place >= 0; place = needed.previousSetBit(place - 1)) {
                nodes.get(place).dropGradient();
            }
        }
    }

    private BitSet needed(TapeNode last) {
        BitSet needed = new BitSet(last.place + 1);
        needed.set(last.place);
        for (int place = last.place; place >= 0; place = needed.previousSetBit(place - 1)) {
            nodes.get(place).markInputs(needed);
        }
        return needed;
    }

    /** Sets the gradients of all leaves that this tape has met to 0. */
    void zeroGradients() {
        checkUsable();
        sums.forEach(GradientSum::zero);
    }

    /** Frees all that the tape holds. Arrays that were computed under it are then like any other. */
    void close() {
        if (closed.compareAndSet(false, true)) {
            OPEN.decrementAndGet();
            if (CURRENT.get() == this) {
                CURRENT.remove();
            }
            NDManager owner = manager;
            if (owner != null) {
                owner.close();
            }
        }
        if (Thread.currentThread() == thread) {
            // One array that stays would keep all nodes.
            nodes.forEach(TapeNode::release);
            nodes.clear();
            sums.clear();
        }
    }
}
