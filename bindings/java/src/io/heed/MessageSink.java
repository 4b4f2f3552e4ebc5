// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * What receives the messages of contexts. Native code knows it by its number, so that a context that outlives its
 * manager refers to nothing: the messages are then dropped.
 */
final class MessageSink {
    private static final AtomicLong LAST = new AtomicLong();
    private static final Map<Long, WeakReference<MessageSink>> SINKS = new ConcurrentHashMap<>();
    /** By the native library's numbers of them, from 1 on. */
    private static final System.Logger.Level[] LEVELS = {
        System.Logger.Level.ERROR, System.Logger.Level.WARNING, System.Logger.Level.INFO, System.Logger.Level.DEBUG
    };

    final BiConsumer<System.Logger.Level, String> logger;
    final long number = LAST.incrementAndGet();

    MessageSink(BiConsumer<System.Logger.Level, String> logger) {
        this.logger = logger;
        long mine = number;
        SINKS.put(mine, new WeakReference<>(this));
        NativeHandle.CLEANER.register(this, () -> SINKS.remove(mine));
    }

    /** Makes a call whose failure is an answer, of which no message tells. */
    static <T> T withoutMessages(Supplier<T> call) {
        HeedNative.setQuiet(1);
        try {
            return call.get();
        } finally {
            HeedNative.setQuiet(0);
        }
    }

    /** Called by the native wrapper at the end of a call, with its messages one by one. Never throws. */
    static void pass(long number, int level, byte[] text) {
        try {
            WeakReference<MessageSink> reference = SINKS.get(number);
            MessageSink sink = reference == null ? null : reference.get();
            if (sink != null) {
                sink.logger.accept(LEVELS[Math.min(level, LEVELS.length) - 1], NativeText.of(text));
            }
        } catch (Throwable error) {
            // The call must end as it would without a logger.
        }
    }
}
