// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

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
    void anAxisOutOfRangeIsNamed() {
        Shape shape = new Shape(2, 4);
        assertEquals("index is 2, expected 0 to 1: the shape is (2, 4)", refused(() -> shape.get(2)));
        assertEquals("index is -1, expected 0 to 1: the shape is (2, 4)", refused(() -> shape.get(-1)));
        assertEquals("index is 0, but a scalar has no axes: the shape is ()", refused(() -> new Shape().get(0)));
        assertEquals("the shape is a scalar's, which has no axes", refused(new Shape()::head));
        assertEquals("the shape is a scalar's, which has no axes", refused(new Shape()::tail));
    }

    private static String refused(Executable use) {
        return assertThrows(IndexOutOfBoundsException.class, use).getMessage();
    }

    @Test
    void givesPartsAndJoins() {
        Shape shape = new Shape(2, 4, 100);
        assertEquals(2, shape.head());
        assertEquals(100, shape.tail());
        assertEquals(200, shape.size(0, 2));
        assertEquals(1, shape.size(new int[0]));
        assertEquals(new Shape(4, 100), shape.slice(1));
        assertEquals(new Shape(4), shape.slice(1, 2));
        assertEquals(new Shape(), shape.slice(3));
        assertEquals(new Shape(2, 4, 100, 7, 8), shape.add(7, 8));
        assertEquals(new Shape(2, 4, 100, 5), shape.addAll(new Shape(5)));
        assertTrue(new Shape().isScalar());
        assertFalse(new Shape(1).isScalar());
        assertThrows(IllegalArgumentException.class, () -> shape.size(3));
        assertThrows(IllegalArgumentException.class, () -> shape.size(-1));
        assertThrows(IndexOutOfBoundsException.class, () -> shape.slice(4));
        assertThrows(IndexOutOfBoundsException.class, () -> shape.slice(2, 1));
        assertThrows(IndexOutOfBoundsException.class, new Shape()::head);
        assertThrows(IndexOutOfBoundsException.class, new Shape()::tail);
    }

    @Test
    void anUnknownSizeMakesTheSizeUnknown() {
        assertEquals(-1, new Shape(2, -1, 3).size());
        assertEquals(-1, new Shape(2, -1, 3).size(0, 1));
        assertEquals(6, new Shape(2, -1, 3).size(0, 2));
    }

    /** The bytes of DJL's format, written by hand. */
    @Test
    void isWrittenAndReadAsDjlDoes() throws IOException {
        byte[] encoded = {0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, '?', 0, '?'};
        assertArrayEquals(encoded, new Shape(3, 256).getEncoded());
        DataInputStream in = stream(encoded);
        assertEquals(new Shape(3, 256), Shape.decode(in));
        assertEquals(-1, in.read());
        assertEquals(new Shape(), Shape.decode(stream(new Shape().getEncoded())));
        for (int length = 0; length < encoded.length; length++) {
            byte[] part = Arrays.copyOf(encoded, length);
            assertThrows(EOFException.class, () -> Shape.decode(stream(part)));
        }
        byte[] negative = {-1, -1, -1, -1};
        assertThrows(IOException.class, () -> Shape.decode(stream(negative)));
        byte[] large = {127, -1, -1, -1};
        assertEquals(
                "the shape has 2147483647 axes, expected 0 to 8",
                assertThrows(IOException.class, () -> Shape.decode(stream(large))).getMessage());
    }

    private static DataInputStream stream(byte[] bytes) {
        return new DataInputStream(new ByteArrayInputStream(bytes));
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
