// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** The state that a base manager shares with all managers made from it: a context for each device, and the seeds. */
final class Contexts {
    /** How many were made: each has its own seeds. */
    private static final AtomicLong MADE = new AtomicLong();

    final ContextOptions options;
    final AtomicLong nextSeed = new AtomicLong(MADE.getAndIncrement() << 32);
    /** The base manager's, which closes the contexts with itself. Null: the collector does. */
    private final Registry registry;
    private final Map<Device, NativeContext> open = new HashMap<>();
    /**
     * The contexts of arrays that no manager owns. The arrays keep them alive, and closing a manager does not end them.
     */
    private WeakReference<Contexts> unmanaged = new WeakReference<>(null);

    Contexts(ContextOptions options, Registry registry) {
        this.options = options;
        this.registry = registry;
    }

    /** Throws if the device cannot be used, or the base manager is closed. */
    synchronized NativeContext of(Device device) {
        NativeContext context = open.get(device);
        if (context == null) {
            context = open(device);
            open.put(device, context);
        }
        return context;
    }

    /** Contexts that live as long as they are referred to. */
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
