// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.Cleaner;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;

/**
 * The base class of the generated proxies of opaque objects. A native object is destroyed once: when it is closed and
 * no call uses it. The cleaner closes objects that nothing refers to.
 */
abstract class NativeHandle implements AutoCloseable {
    /** The only cleaner of the library. */
    static final Cleaner CLEANER = Cleaner.create();
    /** Passed in place of the pointer of a closed object. The native wrapper throws when it gets it. */
    private static final long CLOSED = -1;

    private final Lifetime lifetime;
    private final Cleaner.Cleanable cleanable;

    NativeHandle(long pointer, LongConsumer destroy) {
        lifetime = new Lifetime(pointer, destroy, Leaks.REPORTED ? Leaks.creationOf(getClass()) : null);
        cleanable = CLEANER.register(this, lifetime);
    }

    @Override
    public abstract void close();

    /** The message of the exception that a use of the closed object throws. */
    abstract String closedSentence();

    /** Begins a call of this object. Returns its pointer, which is valid until {@link #leave()}. */
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
     * Begins the use of an argument of a call. Returns its pointer, 0 for null, or {@link #CLOSED} for a closed object.
     * Never throws, so that the uses of earlier arguments need not be undone.
     */
    static long enter(NativeHandle handle) {
        if (handle == null) {
            return 0;
        }
        return handle.lifetime.enter() ? handle.lifetime.pointer : CLOSED;
    }

    /** Ends the use for which {@link #enter(NativeHandle)} returned this pointer. */
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
     * Makes a manager the owner, which closes the object when it is closed. Returns false, and changes nothing, if the
     * manager is closed.
     */
    final boolean attach(Registry registry) {
        return lifetime.attach(registry);
    }

    /** Removes the owner of the object. The caller closes it, or else the cleaner does. */
    final void detach() {
        lifetime.detach();
    }

    /** Keeps Java memory that the native object uses until the object is destroyed. Null: none. */
    final void keep(Object memory) {
        lifetime.kept = memory;
    }

    final Object kept() {
        return lifetime.kept;
    }

    /** Counts the native memory of a new object until the object is destroyed. Called at most once. */
    final void count(long numBytes) {
        lifetime.memory = NativeMemory.count(numBytes);
    }

    /**
     * The same for an object that another thread may close at the same time; a closed object is not counted. Called at
     * most once.
     */
    final void countIfOpen(long numBytes) {
        if (lifetime.memory == null && lifetime.enter()) {
            count(numBytes);
            lifetime.leave();
        }
    }

    /**
     * Makes this object, which is a new view, keep and share the memory of another object. Called while a call uses
     * that object.
     */
    final void share(NativeHandle other) {
        lifetime.kept = other.lifetime.kept;
        NativeMemory.Share memory = other.lifetime.memory;
        lifetime.memory = memory == null ? null : memory.again();
    }

    /** Lets the cleaner close the object without reporting it as a leak. */
    final void leaveToCollector() {
        lifetime.creation = null;
    }

    /** Makes the cleaner close the object when nothing refers to `user` any more. */
    final void closeAfter(Object user) {
        CLEANER.register(user, () -> NativeMemory.cleaning(lifetime.memory, this::closeOnce));
    }

    final void closeOnce() {
        lifetime.close();
        cleanable.clean();
    }

    /**
     * The part of the object that outlives the proxy. It must not refer to the proxy, since the cleaner would then
     * never free it.
     */
    static final class Lifetime implements Runnable {
        private static final int CLOSED_BIT = 1;
        private static final int ONE_CALL = 2;

        private final long pointer;
        private final LongConsumer destroy;
        /** The stack trace of the object's creation; null if a leak of it is not reported. */
        private volatile Throwable creation;
        /**
         * ONE_CALL for each call that uses the object, plus CLOSED_BIT once it is closed, after which no call begins.
         */
        private final AtomicInteger state = new AtomicInteger();
        private volatile Object kept;
        /** The native memory of the object; null if it has none. */
        private volatile NativeMemory.Share memory;
        /** The registry of the owner; null if no manager owns the object. Written under this object's lock. */
        private Registry registry;

        private Lifetime(long pointer, LongConsumer destroy, Throwable creation) {
            this.pointer = pointer;
            this.destroy = destroy;
            this.creation = creation;
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

        /** Does not add a closed object to the registry: the thread that closes it removes it after the bit is set. */
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

        /**
         * Called by the cleaner, and after the object was closed. If the object is still open, the caller is the
         * cleaner.
         */
        @Override
        public void run() {
            if (isOpen()) {
                NativeMemory.cleaning(memory, this::clean);
            }
        }

        private void clean() {
            Throwable made = creation;
            if (close() && made != null) {
                Leaks.report(made);
            }
        }

        /** Returns false if the object was already closed. */
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
