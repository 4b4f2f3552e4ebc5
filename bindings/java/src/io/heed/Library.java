// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.SoftReference;

/** The native library, loaded when it is first needed, and the context that all managers and blocks share. */
final class Library {
    /**
     * What waits for the cleaner keeps the loader of these classes, so a context that this class held for ever would
     * never let them go. All that works with a context refers to it; a lost one is opened anew.
     */
    private static SoftReference<NativeContext> shared = new SoftReference<>(null);

    private Library() {}

    /** The CPU with heed's defaults. A failure is thrown anew each time, with all it has to say. */
    static synchronized NativeContext context() {
        NativeContext context = shared.get();
        if (context == null) {
            NativeLoader.load();
            context = NativeContext.open();
            shared = new SoftReference<>(context);
        }
        return context;
    }
}
