// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** The state that a base manager shares with all managers made from it: one context for each device, and the seeds. */
final class Contexts {
    /** The number of objects of this class so far: each has different seeds. */
    private static final AtomicLong MADE = new AtomicLong();

    final ContextOptions options;
    final AtomicLong nextSeed = new AtomicLong(MADE.getAndIncrement() << 32);
    /** The registry of the base manager, which closes the contexts. If null, the garbage collector does. */
    private final Registry registry;
    private final Map<Device, NativeContext> open = new HashMap<>();
    /**
     * The contexts of arrays that no manager owns. These arrays keep the contexts alive; closing a manager does not
     * close them.
     */
    private WeakReference<Contexts> unmanaged = new WeakReference<>(null);

    Contexts(ContextOptions options, Registry registry) {
        this.options = options;
        this.registry = registry;
    }

    /** Throws if the device cannot be used, or if the base manager is closed. */
    synchronized NativeContext of(Device device) {
        NativeContext context = open.get(device);
        if (context == null) {
            context = open(device);
            open.put(device, context);
        }
        return context;
    }

    /** Contexts that are closed when nothing refers to them any more. */
    synchronized Contexts unmanaged() {
        if (registry == null) {
            return this;
        }
        Contexts contexts = unmanaged.get();
        if (contexts == null) {
            contexts = new Contexts(options, null);
            unmanaged = new WeakReference<>(contexts);
        }
        return contexts;
    }

    private NativeContext open(Device device) {
        if (device.isCpu() && (registry == null || options.equals(ContextOptions.DEFAULTS))) {
            return Library.context();
        }
        NativeContext context = Library.open(device, options);
        if (registry == null) {
            context.leaveToCollector();
        } else if (!context.attach(registry)) {
            context.close();
            throw new IllegalStateException(NDManager.CLOSED);
        }
        return context;
    }
}
