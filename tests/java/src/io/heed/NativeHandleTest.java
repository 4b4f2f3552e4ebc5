// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.junit.jupiter.api.Test;

/** The count of calls that use an object, on objects that only note their end. */
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
}
