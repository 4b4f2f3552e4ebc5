// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;

/**
 * The base of the generated proxies of opaque objects. A native object is destroyed once: when it is closed and no call
 * uses it. The cleaner closes objects that nothing refers to.
 */
abstract class NativeHandle implements AutoCloseable {
    /** The one cleaner of the library. */
    static final Cleaner CLEANER = Cleaner.create();
    /** Passed for a closed object, in place of its pointer. The native wrapper throws for it. */
    private static final long CLOSED = -1;

    private final Lifetime lifetime;
    private final Cleaner.Cleanable cleanable;

    NativeHandle(long pointer, LongConsumer destroy) {
        lifetime = new Lifetime(pointer, destroy, Leaks.REPORTED ? Leaks.placeOf(getClass()) : null);
        cleanable = CLEANER.register(this, lifetime);
    }

    @Override
    public abstract void close();

    /** The message of the exception for a use of the closed object. */
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

    /** Ends a use that {@link #enter(NativeHandle)} began with this result. */
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

    /**
     * Makes a manager the owner, which closes the object with itself. False, and no change, if the manager is closed.
     */
    final boolean attach(Registry registry) {
        return lifetime.attach(registry);
    }

    /** Leaves the object without an owner: the caller closes it, or the cleaner. */
    final void detach() {
        lifetime.detach();
    }

    /** Memory of Java's that the native object uses, held until the object is destroyed. Null: none. */
    final void keep(Object memory) {
        lifetime.kept = memory;
    }

    final Object kept() {
        return lifetime.kept;
    }

    /** Counts the native memory of a new object until the object is destroyed. Called once. */
    final void count(long numBytes) {
        lifetime.memory = NativeMemory.count(numBytes);
    }

    /**
     * The same for an object that another thread may close at the same time; a closed one is not counted. Called once.
     */
    final void countIfOpen(long numBytes) {
        if (lifetime.memory == null && lifetime.enter()) {
            count(numBytes);
            lifetime.leave();
        }
    }

    /** Makes this, a new view, keep and share the memory of another object. Called while a call uses that object. */
    final void share(NativeHandle other) {
        lifetime.kept = other.lifetime.kept;
        NativeMemory.Share memory = other.lifetime.memory;
        lifetime.memory = memory == null ? null : memory.again();
    }

    /** Leaves closing the object to the cleaner, so that it is not reported as a leak. */
    final void leaveToCollector() {
        lifetime.place = null;
    }

    /** Has the cleaner close the object once nothing refers to `user`. */
    final void closeAfter(Object user) {
        CLEANER.register(user, () -> NativeMemory.cleaning(lifetime.memory, this::closeOnce));
    }

    final void closeOnce() {
        lifetime.close();
        cleanable.clean();
    }

    /** The part that outlives the proxy. It never refers to it, or the cleaner would not see the proxy go. */
    static final class Lifetime implements Runnable {
        private static final int CLOSED_BIT = 1;
        private static final int ONE_CALL = 2;

        private final long pointer;
        private final LongConsumer destroy;
        /** Where the object was made; null unless its leak is reported. */
        private volatile Throwable place;
        /** ONE_CALL for each call that uses the object, and CLOSED_BIT; no call begins once the bit is set. */
        private final AtomicInteger state = new AtomicInteger();
        private volatile Object kept;
        /** Null: it owns none. */
        private volatile NativeMemory.Share memory;
        /** Null: no manager's. Written under this object's lock. */
        private Registry registry;

        private Lifetime(long pointer, LongConsumer destroy, Throwable place) {
            this.pointer = pointer;
            this.destroy = destroy;
            this.place = place;
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
                free();
            }
        }

        private void free() {
            destroy.accept(pointer);
            kept = null;
            if (memory != null) {
                memory.release();
            }
        }

        /** A closed object stays out of the registry: whoever closes it removes it after the bit is set. */
        private synchronized boolean attach(Registry wanted) {
            if (registry == wanted || !isOpen()) {
                return wanted.isOpen();
            }
            if (!wanted.add(this)) {
                return false;
            }
            detach();
            registry = wanted;
            return true;
        }

        private synchronized void detach() {
            if (registry != null) {
                registry.remove(this);
                registry = null;
            }
        }

        /** The cleaner calls this, and whoever has closed the object: for the cleaner alone it may still be open. */
        @Override
        public void run() {
            if (isOpen()) {
                NativeMemory.cleaning(memory, this::clean);
            }
        }

        private void clean() {
            Throwable made = place;
            if (close() && made != null) {
                Leaks.report(made);
            }
        }

        /** False if the object was closed already. */
        boolean close() {
            for (;;) {
                int seen = state.get();
                if ((seen & CLOSED_BIT) != 0) {
                    return false;
                }
                if (state.compareAndSet(seen, seen | CLOSED_BIT)) {
                    detach();
                    if (seen == 0) {
                        free();
                    }
                    return true;
                }
            }
        }
    }
}
