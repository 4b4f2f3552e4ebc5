// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class NDListTest {
    @Test
    void isAListOfArrays() {
        try (NDManager manager = NDManager.newBaseManager()) {
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
    void singletonWantsOneArray() {
        try (NDManager manager = NDManager.newBaseManager()) {
            NDArray a = manager.ones(new Shape(2));
            assertSame(a, new NDList(a).singletonOrThrow());
            assertThrows(IndexOutOfBoundsException.class, new NDList(a, a)::singletonOrThrow);
            assertThrows(IndexOutOfBoundsException.class, new NDList()::singletonOrThrow);
            assertThrows(IndexOutOfBoundsException.class, new NDList()::head);
        }
    }
}
