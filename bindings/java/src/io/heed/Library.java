// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.SoftReference;

/** The native library, loaded when it is first needed, and the context that most managers and all new blocks share. */
final class Library {
    private static boolean loaded;

    /**
     * What waits for the cleaner keeps the loader of these classes, so a context that this class held for ever would
     * never let them go. All that works with a context refers to it; a lost one is opened anew.
     */
    private static SoftReference<NativeContext> shared = new SoftReference<>(null);

    private Library() {}

    /** A failure is thrown anew each time, with all it has to say. */
    static synchronized void load() {
        if (!loaded) {
            NativeLoader.load();
            loaded = true;
        }
    }

    /** The CPU with heed's defaults. */
    static synchronized NativeContext context() {
        NativeContext context = shared.get();
        if (context == null) {
            context = open(Device.cpu(), ContextOptions.DEFAULTS);
            shared = new SoftReference<>(context);
        }
        return context;
    }

    /** A new context. */
    static NativeContext open(Device device, ContextOptions options) {
        load();
        return NativeContext.open(
                device.code(),
                device.getDeviceId(),
                options.getNumThreads(),
                options.isStrict() ? 1 : 0,
                options.isAllowReducedPrecision() ? 1 : 0);
    }
}
