// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.util.List;

import org.junit.jupiter.api.Test;

/** What lists of Java are beside those of tests/bindings/cases/lists.txt. */
class NDListTest {
    @Test
    void isMadeOfAnyList() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray a = manager.ones(new Shape(2));
            NDArray b = manager.ones(new Shape(3));
            NDList list = new NDList(List.of(a, b));
            assertEquals(List.of(a, b), list);
            assertEquals(List.of(), list.subNDList(2));
        }
    }

    @Test
    void aListWithNullIsNotWritten() {
        try (NDManager manager = TestDevice.newManager()) {
            NDList list = new NDList(manager.ones(new Shape(2)), null);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            assertEquals(
                    "array 1 of the list is null",
                    assertThrows(IllegalStateException.class, () -> list.encode(bytes)).getMessage());
            assertEquals(0, bytes.size());
        }
    }
}
