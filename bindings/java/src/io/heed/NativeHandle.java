// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;

/**
 * The base of the generated proxies: one native object, destroyed once. It is destroyed when it has been closed and no
 * call uses it any more; the cleaner closes what nothing refers to.
 */
abstract class NativeHandle implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();
    /** In place of a closed object's pointer; the native wrapper throws for it. */
    private static final long CLOSED = -1;

    private final Lifetime lifetime;
    private final Cleaner.Cleanable cleanable;

    NativeHandle(long pointer, LongConsumer destroy) {
        lifetime = new Lifetime(pointer, destroy);
        cleanable = CLEANER.register(this, lifetime);
    }

    @Override
    public abstract void close();

    /** What using the object after it was closed is answered with. */
    abstract String closedSentence();

    /** For a call on this object: its pointer, valid until {@link #leave()}. */
    final long enter() {
        if (!lifetime.enter()) {
            throw new IllegalStateException(closedSentence());
        }
        return lifetime.pointer;
    }

    final void leave() {
        lifetime.leave();
    }

    /**
     * For an argument of a call: its pointer, 0 for null, {@link #CLOSED} if it is closed. Never throws, so that there
     * is nothing to undo.
     */
    static long enter(NativeHandle handle) {
        if (handle == null) {
            return 0;
        }
        return handle.lifetime.enter() ? handle.lifetime.pointer : CLOSED;
    }

    /** The end of what {@link #enter(NativeHandle)} began with this result. */
    static void leave(NativeHandle handle, long pointer) {
        if (handle != null && pointer != CLOSED) {
            handle.lifetime.leave();
        }
    }

    final void checkOpen() {
        if (!isOpen()) {
            throw new IllegalStateException(closedSentence());
        }
    }

    final boolean isOpen() {
        return lifetime.isOpen();
    }

    /** Hands the object to a manager, which closes it with itself. False if the manager is closed. */
    final boolean attach(Registry registry) {
        return lifetime.attach(registry);
    }

    final void closeOnce() {
        cleanable.clean();
    }

    /** The part that outlives the proxy. It never refers to it, or the cleaner would not see the proxy go. */
    private static final class Lifetime implements Runnable {
        private static final int CLOSED_BIT = 1;
        private static final int ONE_CALL = 2;

        private final long pointer;
        private final LongConsumer destroy;
        /** ONE_CALL for each call that uses the object, and CLOSED_BIT; no call begins once the bit is set. */
        private final AtomicInteger state = new AtomicInteger();
        private volatile Registry registry;

        private Lifetime(long pointer, LongConsumer destroy) {
            this.pointer = pointer;
            this.destroy = destroy;
        }

        private boolean isOpen() {
            return (state.get() & CLOSED_BIT) == 0;
        }

        private boolean enter() {
            for (;;) {
                int seen = state.get();
                if ((seen & CLOSED_BIT) != 0) {
                    return false;
                }
                if (state.compareAndSet(seen, seen + ONE_CALL)) {
                    return true;
                }
            }
        }

        private void leave() {
            if (state.addAndGet(-ONE_CALL) == CLOSED_BIT) {
                destroy.accept(pointer);
            }
        }

        private boolean attach(Registry registry) {
            this.registry = registry;
            return registry.add(this);
        }

        /** Closes: called by close, by a manager, or by the cleaner, and idempotent. */
        @Override
        public void run() {
            for (;;) {
                int seen = state.get();
                if ((seen & CLOSED_BIT) != 0) {
                    return;
                }
                if (state.compareAndSet(seen, seen | CLOSED_BIT)) {
                    if (registry != null) {
                        registry.remove(this);
                    }
                    if (seen == 0) {
                        destroy.accept(pointer);
                    }
                    return;
                }
            }
        }
    }
}
