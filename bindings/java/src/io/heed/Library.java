// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The native library, loaded when it is first needed, and the context that all managers and blocks share. */
final class Library {
    private static NativeContext context;

    private Library() {}

    /** The CPU with heed's defaults. A failure is thrown anew each time, with all it has to say. */
    static synchronized NativeContext context() {
        if (context == null) {
            NativeLoader.load();
            context = NativeContext.open();
        }
        return context;
    }
}
