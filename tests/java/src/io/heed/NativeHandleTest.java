// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.junit.jupiter.api.Test;

/** Counting of the calls that use an object, tested with objects that only record their end. */
class NativeHandleTest {
    private final List<Long> destroyed = Collections.synchronizedList(new ArrayList<>());

    private final class Handle extends NativeHandle {
        Handle(long pointer) {
            super(pointer, destroyed::add);
        }

        @Override
        public void close() {
            closeOnce();
        }

        @Override
        String closedSentence() {
            return "it is closed";
        }
    }

    @Test
    void isDestroyedOnce() {
        Handle handle = new Handle(7);
        assertTrue(handle.isOpen());
        handle.close();
        handle.close();
        assertFalse(handle.isOpen());
        assertEquals(List.of(7L), destroyed);
    }

    @Test
    void isDestroyedAfterTheLastCallThatUsesIt() {
        Handle handle = new Handle(7);
        assertEquals(7, handle.enter());
        assertEquals(7, NativeHandle.enter(handle));
        handle.close();
        assertEquals(List.of(), destroyed);
        handle.leave();
        assertEquals(List.of(), destroyed);
        NativeHandle.leave(handle, 7);
        assertEquals(List.of(7L), destroyed);
    }

    @Test
    void cannotBeEnteredOnceClosed() {
        Handle handle = new Handle(7);
        assertEquals(7, handle.enter());
        handle.close();
        assertEquals("it is closed", assertThrows(IllegalStateException.class, handle::enter).getMessage());
        assertThrows(IllegalStateException.class, handle::checkOpen);
        long closed = NativeHandle.enter(handle);
        assertEquals(-1, closed);
        NativeHandle.leave(handle, closed);
        assertEquals(List.of(), destroyed);
        handle.leave();
        assertEquals(List.of(7L), destroyed);
    }

    @Test
    void nullIsNoObject() {
        assertEquals(0, NativeHandle.enter(null));
        NativeHandle.leave(null, 0);
    }

    @Test
    void isClosedByItsRegistry() {
        Registry registry = new Registry(null);
        Handle kept = new Handle(7);
        Handle closed = new Handle(8);
        assertTrue(kept.attach(registry));
        assertTrue(closed.attach(registry));
        closed.close();
        registry.close();
        registry.close();
        assertEquals(List.of(8L, 7L), destroyed);
        assertFalse(new Handle(9).attach(registry));
    }

    @Test
    void isDestroyedWhenItIsForgotten() throws Exception {
        Registry registry = new Registry(null);
        for (int i = 0; i < 100; i++) {
            new Handle(i).attach(registry);
        }
        for (int i = 0; i < 1000 && destroyed.size() < 100; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertEquals(100, destroyed.size());
        registry.close();
        assertEquals(100, destroyed.size());
    }

    @Test
    void keepsMemoryUntilItIsDestroyed() {
        Handle handle = new Handle(7);
        assertNull(handle.kept());
        handle.keep("memory");
        handle.enter();
        handle.close();
        assertEquals("memory", handle.kept());
        handle.leave();
        assertNull(handle.kept());
    }

    @Test
    void movesFromRegistryToRegistry() {
        Registry first = new Registry(null);
        Registry second = new Registry(null);
        Handle handle = new Handle(7);
        assertTrue(handle.attach(first));
        assertTrue(handle.attach(second));
        first.close();
        assertTrue(handle.isOpen());
        assertFalse(handle.attach(first));
        handle.detach();
        second.close();
        assertTrue(handle.isOpen());
        Registry third = new Registry(null);
        assertTrue(handle.attach(third));
        third.close();
        assertEquals(List.of(7L), destroyed);
    }

    /** However the threads race, the object is destroyed once, and at the latest when the last registry is closed. */
    @Test
    void isDestroyedOnceHoweverItIsPassedAround() throws Exception {
        for (int round = 0; round < 500; round++) {
            destroyed.clear();
            Registry[] registries = {new Registry(null), new Registry(null)};
            Handle handle = new Handle(7);
            handle.attach(registries[0]);
            Thread[] threads = {
                new Thread(() -> handle.attach(registries[1])), new Thread(registries[0]::close),
                new Thread(() -> handle.attach(registries[0])), new Thread(round % 2 == 0 ? handle::close : () -> {})
            };
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            registries[1].close();
            assertEquals(List.of(7L), destroyed);
        }
    }

    @Test
    void aForgottenRegistryIsFreedWithItsLastObject() throws Exception {
        Registry parent = new Registry(null);
        Handle handle = new Handle(7);
        WeakReference<Registry> empty = forgotten(parent, null);
        WeakReference<Registry> holding = forgotten(parent, handle);
        collect(empty);
        assertNull(empty.get());
        assertNotNull(holding.get());
        handle.close();
        collect(holding);
        assertNull(holding.get());

        Handle closedByParent = new Handle(8);
        forgotten(parent, closedByParent);
        parent.close();
        assertEquals(List.of(7L, 8L), destroyed);
    }

    /** A registry below another one below the parent, both without their managers. */
    private static WeakReference<Registry> forgotten(Registry parent, Handle handle) {
        Registry upper = new Registry(parent);
        Registry lower = new Registry(upper);
        if (handle != null) {
            handle.attach(lower);
        }
        upper.forget();
        lower.forget();
        return new WeakReference<>(upper);
    }

    private static void collect(WeakReference<?> reference) throws InterruptedException {
        for (int i = 0; i < 20 && reference.get() != null; i++) {
            System.gc();
            Thread.sleep(5);
        }
    }

    @Test
    void aRegistryBelowAClosedOneIsClosed() {
        Registry parent = new Registry(null);
        parent.close();
        Registry child = new Registry(parent);
        assertFalse(child.isOpen());
        assertFalse(new Handle(7).attach(child));
    }
}
