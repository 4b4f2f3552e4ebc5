// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The gradients of a block's parameters, those of its children included, which all threads add to. They are made when they are
 * first asked for, begin with zeros, and go when the block's native layer is replaced. Every method but {@link #drop} and
 * {@link #makeAnew} is called between enter and leave of the layer.
 */
final class LayerGradients implements GradientSum {
    private final OwnLayer layer;
    /** Counts writes, for all views of the gradients. */
    private final AtomicInteger version = new AtomicInteger();
    /** Null until it is asked for. Guarded by this object's lock. */
    private NativeGradients set;
    /** Whether other parameters are trainable than those of the set. */
    private boolean isOutdated;

    LayerGradients(OwnLayer layer) {
        this.layer = layer;
    }

    /** The native gradients. Throws if the layer cannot be trained, such as one with parameters of 16 bits. */
    synchronized NativeGradients set() {
        if (set != null && set.isOpen() && !isOutdated) {
            return set;
        }
        NativeGradients made = NativeGradients.create(layer.get());
        try {
            if (set != null && set.isOpen()) {
                keep(set, made);
            }
            layer.ownerOfGradients().own(made);
        } catch (Throwable error) {
            made.close();
            throw error;
        }
        if (set != null) {
            set.close();
        }
        set = made;
        isOutdated = false;
        version.incrementAndGet();
        return made;
    }

    /** Copies gradients of parameters that both sets have. */
    private static void keep(NativeGradients before, NativeGradients now) {
        for (long index = 0; index < now.count(); index++) {
            String name = now.name(index);
            ByteBuffer nativeName = NativeText.of(name, "name");
            if (indexOf(before, name) >= 0) {
                try (NativeTensor source = before.tensor(nativeName);
                        NativeTensor target = now.tensor(nativeName)) {
                    target.copy(source);
                }
            }
        }
    }

    private static long indexOf(NativeGradients gradients, String name) {
        for (long index = 0; index < gradients.count(); index++) {
            if (gradients.name(index).equals(name)) {
                return index;
            }
        }
        return -1;
    }

    /** The gradient of a parameter, which may be written. It stays that of the parameter until the set goes. */
    NDArray of(ByteBuffer name) {
        NDManager owner = layer.ownerOfGradients();
        NativeTensor view = set().tensor(name);
        view.leaveToCollector();
        owner.own(view);
        NDArray made = new NDArray(owner, view);
        made.data().shareVersion(version);
        return made;
    }

    /** Adds a gradient of a parameter. */
    synchronized void add(ByteBuffer name, NativeTensor addend) {
        try (NativeTensor sum = set().tensor(name)) {
            HeedNative.heed_elementwise(ElementFunction.ADD.ordinal(), sum, addend, sum);
            version.incrementAndGet();
        }
    }

    /** Adds the gradients of a child, whose parameters have other names, and sets them to 0. */
    synchronized void take(ChildLayer child, NativeGradients gradients) {
        for (long index = 0; index < gradients.count(); index++) {
            String name = gradients.name(index);
            LayerParameter parameter = (LayerParameter) child.parameters.get(name);
            try (NativeTensor addend = gradients.tensor(NativeText.of(name, "name"))) {
                add(parameter.nativeName, addend);
            }
        }
        gradients.zero();
    }

    /** Counts that a call has written the gradients. */
    void countWrite() {
        version.incrementAndGet();
    }

    @Override
    public void zero() {
        long stamp = layer.enter();
        try {
            synchronized (this) {
                if (set != null && set.isOpen()) {
                    set.zero();
                    version.incrementAndGet();
                }
            }
        } finally {
            layer.leave(stamp);
        }
    }

    /** Sets one of the gradients to 0. */
    synchronized void zero(ByteBuffer name) {
        if (set != null && set.isOpen() && !isOutdated) {
            try (NativeTensor gradient = set.tensor(name)) {
                gradient.fill(0);
                version.incrementAndGet();
            }
        }
    }

    /** For other trainable parameters; gradients of those that stay trainable are kept. */
    synchronized void makeAnew() {
        isOutdated = true;
    }

    synchronized void drop() {
        if (set != null) {
            set.close();
            set = null;
        }
        isOutdated = false;
    }
}
