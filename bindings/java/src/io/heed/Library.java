// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.WeakReference;

/** The native library, which is loaded on first use, and the context that most managers and all new blocks share. */
final class Library {
    private static boolean loaded;
    /**
     * Weak, because with a strong reference in a static field the classes could not be unloaded: the cleaner's thread
     * refers to the classes of all open objects.
     */
    private static WeakReference<NativeContext> shared = new WeakReference<>(null);

    private Library() {}

    /** Throws the full error each time, not only the first time. */
    static synchronized void load() {
        if (!loaded) {
            NativeLoader.load();
            loaded = true;
        }
    }

    /** A context for the CPU with the default options. The cleaner closes it when nothing refers to it any more. */
    static synchronized NativeContext context() {
        NativeContext context = shared.get();
        if (context == null) {
            context = open(Device.cpu(), ContextOptions.DEFAULTS);
            context.leaveToCollector();
            shared = new WeakReference<>(context);
        }
        return context;
    }

    /** Makes a new context. */
    static NativeContext open(Device device, ContextOptions options) {
        load();
        try (NativeStructs structs = new NativeStructs()) {
            NativeContextOptions members = options.toNative(structs);
            members.setDevice(device.code());
            members.setDeviceIndex(device.getDeviceId());
            long sink = options.sinkNumber();
            return sink == 0 ? NativeContext.create(members) : HeedNative.openReporting(members, sink);
        }
    }
}
