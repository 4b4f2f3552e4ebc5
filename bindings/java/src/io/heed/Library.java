// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.WeakReference;

/** The native library, loaded when it is first needed, and the context that most managers and all new blocks share. */
final class Library {
    private static boolean loaded;
    /**
     * Weak, since what a class holds for ever keeps the classes from being unloaded: the cleaner's thread refers to
     * each object's end.
     */
    private static WeakReference<NativeContext> shared = new WeakReference<>(null);

    private Library() {}

    /** A failure is thrown anew each time, with all it has to say. */
    static synchronized void load() {
        if (!loaded) {
            NativeLoader.load();
            loaded = true;
        }
    }

    /** The CPU with heed's defaults. Nobody closes it; the collector does, when nothing uses it. */
    static synchronized NativeContext context() {
        NativeContext context = shared.get();
        if (context == null) {
            context = open(Device.cpu(), ContextOptions.DEFAULTS);
            context.leaveToCollector();
            shared = new WeakReference<>(context);
        }
        return context;
    }

    /** A new context. */
    static NativeContext open(Device device, ContextOptions options) {
        load();
        try (NativeContextOptions members = new NativeContextOptions()) {
            members.setDevice(device.code());
            members.setDeviceIndex(device.getDeviceId());
            options.fill(members);
            return NativeContext.create(members);
        }
    }
}
