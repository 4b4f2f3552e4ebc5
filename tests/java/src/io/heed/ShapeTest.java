// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class ShapeTest {
    @Test
    void givesItsSizes() {
        Shape shape = new Shape(2, 4, 100);
        assertEquals(3, shape.dimension());
        assertEquals(4, shape.get(1));
        assertEquals(800, shape.size());
        assertArrayEquals(new long[] {2, 4, 100}, shape.getShape());
        assertEquals("(2, 4, 100)", shape.toString());
        assertThrows(IndexOutOfBoundsException.class, () -> shape.get(3));
    }

    @Test
    void isImmutable() {
        long[] dims = {2, 3};
        Shape shape = new Shape(dims);
        dims[0] = 7;
        shape.getShape()[1] = 7;
        assertEquals(new Shape(2, 3), shape);
    }

    @Test
    void ofAScalarHasOneElement() {
        assertEquals(1, new Shape().size());
        assertEquals("()", new Shape().toString());
    }

    @Test
    void isEqualByItsSizes() {
        assertEquals(new Shape(2, 3), new Shape(2, 3));
        assertEquals(new Shape(2, 3).hashCode(), new Shape(2, 3).hashCode());
        assertNotEquals(new Shape(2, 3), new Shape(3, 2));
        assertNotEquals(new Shape(2, 3), "(2, 3)");
    }

    @Test
    void refusesASizeThatOverflows() {
        assertThrows(ArithmeticException.class, () -> new Shape(1L << 40, 1L << 40).size());
    }
}
