// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The layer of a child, inside the layer of another block, with which it shares its parameters and the lock. What
 * concerns the parameters of the whole block, such as their owner and their type, is up to that block.
 */
final class ChildLayer extends BlockLayer {
    private final BlockLayer parent;
    private final LayerPart part;
    private final ByteBuffer nativeName;
    private volatile boolean closed;
    /** Null until it is used, and after the parent's layer was replaced. */
    private volatile NativeLayer layer;
    /** Zeros between two calls of backward; null until the first. Guarded by the lock of the root's gradients. */
    private NativeGradients gradients;

    ChildLayer(NativeBlock block, ChildPath path) {
        super(block);
        parent = path.parent;
        part = path.part;
        nativeName = NativeText.of(part.name, "name");
        String prefix = part.nameOfParameters + ".";
        for (Pair<String, Parameter> parameter : parent.parameters) {
            if (parameter.getKey().startsWith(prefix)) {
                parameters.add(parameter.getKey().substring(prefix.length()), parameter.getValue());
            }
        }
        parent.add(this);
    }

    // ---- using it ---------------------------------------------------------------------------------------------------

    @Override
    long enter() {
        return parent.enter();
    }

    @Override
    void leave(long stamp) {
        parent.leave(stamp);
    }

    @Override
    NativeLayer get() {
        checkNotClosed();
        NativeLayer found = layer;
        return found == null ? taken() : found;
    }

    @Override
    NativeContext context() {
        return parent.context();
    }

    @Override
    boolean isInitialized() {
        long stamp = enter();
        try {
            return hasParameters();
        } finally {
            leave(stamp);
        }
    }

    @Override
    void bindTo(NDArray array, String input) {
        parent.bindTo(array, input);
    }

    /** Ends the use of this child; its parameters are the parent's and stay. */
    @Override
    void close() {
        closed = true;
        giveBack();
    }

    @Override
    void checkNotClosed() {
        parent.checkNotClosed();
        if (closed) {
            throw new IllegalStateException("the block is closed");
        }
    }

    // ---- children ---------------------------------------------------------------------------------------------------

    @Override
    LayerPart part() {
        return part;
    }

    /** The parent knows them as its own, so that it has one list of all. */
    @Override
    void add(ChildLayer child) {
        parent.add(child);
    }

    @Override
    void own(NativeLayer child) {
        parent.own(child);
    }

    // ---- parameters, all of them ------------------------------------------------------------------------------------

    @Override
    void initialize(NDManager manager, DataType dataType, LayerCall call, AtomicLong seeds) {
        long stamp = enter();
        try {
            if (!hasParameters()) {
                throw concernsTheWhole();
            }
            checkFits(get(), call, dataType);
        } finally {
            leave(stamp);
        }
    }

    @Override
    void change(Change change) {
        checkNotClosed();
        parent.change(whole -> {
            try (NativeLayer child = whole.child(nativeName)) {
                change.make(child);
            }
        });
    }

    @Override
    void cast(DataType dataType) {
        checkNotClosed();
        throw concernsTheWhole();
    }

    @Override
    void clear() {
        checkNotClosed();
        throw concernsTheWhole();
    }

    /** Nothing is undone, since initialize only checks. */
    @Override
    Runnable undo(List<NativeTensor> snapshots) {
        return () -> {};
    }

    @Override
    NativeLayer read(NDManager manager, ByteBuffer begin, long numBytes) {
        checkNotClosed();
        throw concernsTheWhole();
    }

    @Override
    void replace(NativeLayer made, NDManager manager) {
        throw concernsTheWhole();
    }

    // ---- gradients --------------------------------------------------------------------------------------------------

    @Override
    OwnLayer root() {
        return parent.root();
    }

    @Override
    NativeGradients gradients() {
        if (gradients == null || !gradients.isOpen()) {
            NativeGradients made = NativeGradients.create(get());
            root().ownerOfGradients().own(made);
            gradients = made;
        }
        return gradients;
    }

    @Override
    void passGradients(NativeGradients added) {
        root().sum().take(this, added);
    }

    @Override
    void forgetGradients() {
        long stamp = enter();
        try {
            parameters.values().forEach(each -> root().sum().zero(((LayerParameter) each).nativeName));
        } finally {
            leave(stamp);
        }
    }

    /** For other trainable parameters. */
    void dropGradients() {
        if (gradients != null) {
            gradients.close();
            gradients = null;
        }
    }

    // ---- inside -----------------------------------------------------------------------------------------------------

    /** Takes the native layer out of the parent's. */
    private synchronized NativeLayer taken() {
        if (layer == null) {
            NativeLayer made = parent.get().child(nativeName);
            // The parent's layer is the one whose leak is reported.
            made.leaveToCollector();
            parent.own(made);
            layer = made;
            if (closed) {
                made.close();
            }
        }
        return layer;
    }

    /** Closes the native layer, which a later call takes out of the parent's again. */
    synchronized void giveBack() {
        dropGradients();
        if (layer != null) {
            layer.close();
            layer = null;
        }
    }

    private boolean hasParameters() {
        checkNotClosed();
        try {
            return get().isInitialized() == 1;
        } catch (IllegalStateException error) {
            checkNotClosed();
            return false;
        }
    }

    private IllegalStateException concernsTheWhole() {
        return new IllegalStateException("the block is the child \"" + part.name
                + "\" of another block, which is initialized, cast, cleared and read by loadParameters as a whole");
    }
}
