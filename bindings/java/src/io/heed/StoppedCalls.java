// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CancellationException;
import java.util.function.Supplier;

/** Ends native calls of threads that are interrupted, and passes the reports of loads. */
final class StoppedCalls {
    /** The listener of the load that this thread makes; null: none. */
    private static final ThreadLocal<LoadProgress> LISTENER = new ThreadLocal<>();

    /** Addresses of native structs: the members `progress` of the inputs of a call, and of the options of a load. */
    static final long OF_FORWARD;

    static final long OF_LOAD;

    static {
        HeedNative.findStoppedCalls();
        OF_FORWARD = HeedNative.progressOfForward();
        OF_LOAD = HeedNative.progressOfLoad();
    }

    private StoppedCalls() {}

    /** Throws if this thread is interrupted, and leaves it interrupted. Before each call that reports. */
    static void check() {
        if (Thread.currentThread().isInterrupted()) {
            throw new CancellationException("the thread is interrupted, so the call was stopped");
        }
    }

    /** The same stream, of which nothing is read by a thread that is interrupted: the read then throws. */
    static InputStream stopped(InputStream stream) {
        return new FilterInputStream(stream) {
            @Override
            public int read() throws IOException {
                check();
                return super.read();
            }

            @Override
            public int read(byte[] bytes, int offset, int length) throws IOException {
                check();
                return super.read(bytes, offset, length);
            }
        };
    }

    /** Called by the native wrapper: whether the forward of this thread shall end. */
    static boolean isInterrupted(long done, long total) {
        return Thread.currentThread().isInterrupted();
    }

    /** Makes a load with a listener, which may be null. */
    static <T> T listened(LoadProgress listener, Supplier<T> load) {
        check();
        if (listener == null) {
            return load.get();
        }
        LISTENER.set(listener);
        try {
            return load.get();
        } finally {
            LISTENER.remove();
        }
    }

    /** Called by the native wrapper: passes a report, and tells whether the load of this thread shall end. */
    static boolean stopsLoad(long done, long total) {
        LoadProgress listener = LISTENER.get();
        if (listener != null) {
            // A load that the listener makes is another one.
            LISTENER.remove();
            listener.report(done, total);
            LISTENER.set(listener);
        }
        return isInterrupted(done, total);
    }
}
