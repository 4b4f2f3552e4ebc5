// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.WeakReference;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

/**
 * Counts the native memory of arrays, workspaces, caches and blocks. The garbage collector does not see that memory:
 * the Java objects that hold it are small, and too few to make the collector run. When much more native memory is in
 * use than after the last collection, this class requests another collection, which frees unreachable objects. Closed
 * objects are not counted, so that a program that closes its objects causes no collections.
 *
 * <p>Used by many threads; holds a lock only while it waits for a collection.
 */
final class NativeMemory {
    /** How many bytes may be added before a collection is requested. 0: no collection is ever requested. */
    static final String PROPERTY = "heed.forgotten.bytes";

    static final long DEFAULT_BYTES = 64L << 20;
    private static final long ALLOWED_BYTES = allowedBytes(System.getProperty(PROPERTY));
    /** The longest time that a thread waits for the cleaner: about as long as java.nio waits for direct buffers. */
    private static final long MAX_WAIT_NANOS = 500_000_000;

    /** More than one attempt, since other threads may allocate the memory that was just freed. */
    private static final int MAX_ATTEMPTS = 8;

    private static final AtomicLong USED = new AtomicLong();
    private static final Object COLLECTING = new Object();
    /** Bytes of native memory in use after the last collection, minus those that the cleaner has freed since. */
    private static final AtomicLong USED_BEFORE = new AtomicLong();

    /** Bytes of the Java heap in use after the last collection. */
    private static volatile long heapBefore;

    /** How many collections this class has requested. */
    private static volatile int collections;

    /** Incremented before and after the cleaner frees an object, so that it is odd while the cleaner frees one. */
    private static volatile int cleanings;

    private NativeMemory() {}

    /** A block of native memory, and how many objects use it: an array and its views. */
    static final class Share {
        private final long numBytes;
        private final AtomicInteger users = new AtomicInteger(1);
        private final int collectionsBefore = collections;

        private Share(long numBytes) {
            this.numBytes = numBytes;
        }

        /** Adds a user. The caller must already be a user. */
        Share again() {
            users.getAndIncrement();
            return this;
        }

        /** Removes a user. When the last one is removed, the block is not counted any more. */
        void release() {
            if (users.decrementAndGet() == 0) {
                USED.getAndAdd(-numBytes);
            }
        }
    }

    /** Counts a block whose first user is the caller. Returns null for 0 bytes. */
    static Share count(long numBytes) {
        if (numBytes == 0) {
            return null;
        }
        USED.getAndAdd(numBytes);
        return new Share(numBytes);
    }

    /** Requests a collection if the limit is exceeded. The caller holds no lock that the cleaner takes. */
    static void limit() {
        if (isTooMuch(USED.get())) {
            synchronized (COLLECTING) {
                // Another thread may have requested a collection meanwhile.
                if (isTooMuch(USED.get())) {
                    collect();
                }
            }
        }
    }

    /**
     * For a call that could not allocate native memory: requests a collection, after which the call can be tried again.
     *
     * @param attempt how often the call was repeated before, from 0
     * @throws OutOfMemoryError the given one, if nothing was freed or the call was tried often enough
     */
    static void freeForgotten(OutOfMemoryError failure, int attempt) {
        long before = USED.get();
        if (ALLOWED_BYTES > 0) {
            synchronized (COLLECTING) {
                collect();
            }
            await(() -> USED.get() < before);
        }
        if (USED.get() >= before || attempt == MAX_ATTEMPTS) {
            throw failure;
        }
    }

    /**
     * Runs the cleaner's work on one object. Called only by the cleaner's thread.
     *
     * @param memory the native memory of the object; null: none
     */
    static void cleaning(Share memory, Runnable work) {
        cleanings++;
        try {
            work.run();
        } finally {
            // An object that a collection has found may be freed after USED_BEFORE was set.
            if (memory != null && memory.users.get() == 0 && memory.collectionsBefore != collections) {
                USED_BEFORE.getAndAdd(-memory.numBytes);
            }
            cleanings++;
        }
    }

    static long usedBytes() {
        return USED.get();
    }

    /** The value of the property. If it is not set or is not a number, which gives a warning, the default. */
    static long allowedBytes(String property) {
        if (property == null) {
            return DEFAULT_BYTES;
        }
        try {
            long numBytes = Long.parseLong(property);
            if (numBytes >= 0) {
                return numBytes;
            }
        } catch (NumberFormatException error) {
            // Reported below.
        }
        System.getLogger("io.heed")
                .log(
                        System.Logger.Level.WARNING,
                        "the system property " + PROPERTY + " is " + property
                                + ", expected a number of bytes, 0 or more: it is taken to be " + DEFAULT_BYTES);
        return DEFAULT_BYTES;
    }

    /**
     * Whether enough native memory was added since the last collection to request another: more than the property
     * allows, than the native memory that was in use after the last collection, and than the Java heap that was in use
     * then. The time of a collection grows with the heap in use, so this limits the share of time that collections
     * take.
     */
    private static boolean isTooMuch(long used) {
        long before = USED_BEFORE.get();
        return ALLOWED_BYTES > 0 && used - before > Math.max(ALLOWED_BYTES, Math.max(before, heapBefore));
    }

    private static void collect() {
        CountDownLatch begun = new CountDownLatch(1);
        NativeHandle.CLEANER.register(new Object(), begun::countDown);
        WeakReference<Object> forgotten = new WeakReference<>(new Object());
        System.gc();
        if (forgotten.get() == null) {
            awaitCleaner(begun);
        }  // Otherwise explicit collections are disabled (-XX:+DisableExplicitGC).
        collections++;
        USED_BEFORE.set(USED.get());
        heapBefore = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** Waits until the cleaner has begun and has been idle for a while. What it frees later, it counts itself. */
    private static void awaitCleaner(CountDownLatch begun) {
        int[] seen = {-1};
        await(() -> {
            int before = seen[0];
            seen[0] = cleanings;
            return begun.getCount() == 0 && before == seen[0] && before % 2 == 0;
        });
    }

    /**
     * Checks the condition every millisecond, for MAX_WAIT_NANOS at most. If the thread is interrupted, the wait goes
     * on, and the interrupt flag is set again at the end.
     */
    private static void await(BooleanSupplier done) {
        long end = System.nanoTime() + MAX_WAIT_NANOS;
        boolean interrupted = false;
        while (!done.getAsBoolean() && System.nanoTime() < end) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException error) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
