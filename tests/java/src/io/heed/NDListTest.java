// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;

import org.junit.jupiter.api.Test;

class NDListTest {
    @Test
    void isAListOfArrays() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray a = manager.ones(new Shape(2));
            NDArray b = manager.ones(new Shape(3, 4));
            NDList list = new NDList(a, b, null);
            assertEquals(3, list.size());
            assertSame(a, list.head());
            assertSame(b, list.get(1));
            assertArrayEquals(new Shape[] {new Shape(2), new Shape(3, 4), null}, list.getShapes());
            list.close();
            assertThrows(IllegalStateException.class, b::getShape);
            list.close();
        }
    }

    @Test
    void isMadeOfOthers() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray a = manager.ones(new Shape(2));
            NDArray b = manager.ones(new Shape(3));
            NDList list = new NDList(4);
            assertEquals(0, list.size());
            assertSame(list, list.addAll(new NDList(List.of(a, b))));
            assertEquals(List.of(a, b), list);
            assertEquals(List.of(b), list.subNDList(1));
            assertEquals(List.of(), list.subNDList(2));
            assertThrows(IndexOutOfBoundsException.class, () -> list.subNDList(3));
            assertThrows(IndexOutOfBoundsException.class, () -> list.subNDList(-1));
            assertThrows(IllegalArgumentException.class, () -> new NDList(-1));
        }
    }

    @Test
    void isAttachedAndDetached() {
        NDManager first = TestDevice.newManager();
        NDManager second = TestDevice.newManager();
        NDList list = new NDList(first.ones(new Shape(2)), null, first.ones(new Shape(3)));
        list.attach(second);
        assertSame(second, list.get(2).getManager());
        first.close();
        assertEquals(3, list.get(2).size());
        list.detach();
        second.close();
        assertEquals(2, list.get(0).size());
        list.close();
        assertThrows(IllegalStateException.class, list::detach);
        assertThrows(IllegalStateException.class, () -> list.attach(second));
    }

    @Test
    void singletonWantsOneArray() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray a = manager.ones(new Shape(2));
            assertSame(a, new NDList(a).singletonOrThrow());
            assertThrows(IndexOutOfBoundsException.class, new NDList(a, a)::singletonOrThrow);
            assertThrows(IndexOutOfBoundsException.class, new NDList()::singletonOrThrow);
            assertThrows(IndexOutOfBoundsException.class, new NDList()::head);
        }
    }
}
