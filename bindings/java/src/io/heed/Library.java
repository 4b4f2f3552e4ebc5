// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The native library, loaded when it is first needed, and the context that most managers and all new blocks share. */
final class Library {
    private static boolean loaded;
    private static NativeContext shared;

    private Library() {}

    /** A failure is thrown anew each time, with all it has to say. */
    static synchronized void load() {
        if (!loaded) {
            NativeLoader.load();
            loaded = true;
        }
    }

    /** The CPU with heed's defaults. Never closed. */
    static synchronized NativeContext context() {
        if (shared == null) {
            shared = open(Device.cpu(), ContextOptions.DEFAULTS);
        }
        return shared;
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
