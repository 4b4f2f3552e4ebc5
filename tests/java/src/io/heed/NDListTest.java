// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

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
    void isMadeOfOtherLists() {
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

    @Test
    void findsAndRemovesByName() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray a = manager.ones(new Shape(2));
            NDArray b = manager.ones(new Shape(3));
            b.setName("b");
            NDList list = new NDList(null, a, b);
            assertTrue(list.contains("b"));
            assertFalse(list.contains("a"));
            assertTrue(list.contains(a));
            assertNull(list.remove("a"));
            assertSame(b, list.remove("b"));
            assertFalse(b.isReleased());
            assertEquals(Arrays.asList(null, a), list);
            assertSame(manager, list.getManager());
            assertEquals(
                    "the list has no array, and so no manager",
                    assertThrows(IndexOutOfBoundsException.class, new NDList(new NDArray[1])::getManager).getMessage());
            assertThrows(NullPointerException.class, () -> list.contains((String) null));
            assertThrows(NullPointerException.class, () -> list.remove((String) null));
        }
    }

    @Test
    void hasAText() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray named = manager.ones(new Shape(2, 3));
            named.setName("weight");
            NDArray closed = manager.ones(new Shape(4), DataType.INT32);
            closed.close();
            assertEquals(
                    "NDList size: 3\n0 weight: (2, 3) float32\n1 : null\n2 : (4) int32 (closed)\n",
                    new NDList(named, null, closed).toString());
            assertEquals("NDList size: 0\n", new NDList().toString());
        }
    }

    @Test
    void aClosedArrayIsNamedByItsIndex() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray closed = manager.ones(new Shape(2));
            NDList list = new NDList(manager.ones(new Shape(2)), null, closed);
            closed.close();
            for (Executable use : new Executable[] {
                list::getShapes, list::detach, () -> list.attach(manager), () -> list.toDevice(Device.cpu(), false)
            }) {
                assertEquals(
                        "array 2 of the list is closed", assertThrows(IllegalStateException.class, use).getMessage());
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            assertEquals(
                    "array 1 of the list is null",
                    assertThrows(IllegalStateException.class, () -> list.encode(bytes)).getMessage());
            assertEquals(0, bytes.size());
        }
    }
}
