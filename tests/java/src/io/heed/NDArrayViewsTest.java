// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Views and shapes of an array in which each element is its own index. */
class NDArrayViewsTest {
    private final NDManager manager = TestDevice.newManager();
    /** ((0, 1, 2), (3, 4, 5)). */
    private final NDArray x = manager.arange(6f).reshape(2, 3);

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void anIndexOutOfRangeIsNamed() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray array = manager.ones(new Shape(2, 3));
            String shape = ": the array has the shape (2, 3)";
            assertEquals("indices[0] is 2, expected -2 to 1" + shape, refused(() -> array.get(2)));
            assertEquals("indices[0] is -3, expected -2 to 1" + shape, refused(() -> array.get(-3, 0)));
            assertEquals("indices[1] is 3, expected -3 to 2" + shape, refused(() -> array.get(1, 3)));
            assertEquals("indices[1] is 7, expected -3 to 2" + shape, refused(() -> array.getFloat(0, 7)));
            assertEquals("3 indices were given, expected at most 2" + shape, refused(() -> array.get(0, 0, 0)));
            assertEquals("1 indices were given, expected 2" + shape, refused(() -> array.getFloat(0)));
            assertEquals(
                    "indices[0] is 0, but that axis has no elements: the array has the shape (0, 2)",
                    refused(() -> manager.zeros(new Shape(0, 2)).get(0)));
        }
    }

    private static String refused(Executable use) {
        return assertThrows(IllegalArgumentException.class, use).getMessage();
    }

    @Test
    void reshape() {
        check(x.reshape(3, 2), new Shape(3, 2), 0, 1, 2, 3, 4, 5);
        check(x.reshape(-1, 1, 2), new Shape(3, 1, 2), 0, 1, 2, 3, 4, 5);
        check(x.reshape(new Shape(6)), new Shape(6), 0, 1, 2, 3, 4, 5);
        check(x.flatten(), new Shape(6), 0, 1, 2, 3, 4, 5);
        check(manager.create(7f).reshape(1, 1), new Shape(1, 1), 7);
        check(manager.create(7f).flatten(), new Shape(1), 7);
        check(manager.zeros(new Shape(0, 3)).flatten(), new Shape(0));
        illegal(() -> x.reshape(4, 2), "(4, 2)", "6");
        illegal(() -> x.reshape(-1, -1), "-1");
        illegal(() -> x.reshape(-1, 4), "4");
        illegal(() -> x.reshape(1, 1, 1, 1, 1, 1, 1, 2, 3), "rank");
    }

    @Test
    void reshapeIsAViewIfPossible() {
        x.reshape(3, 2).set(new float[] {5, 4, 3, 2, 1, 0});
        check(x, new Shape(2, 3), 5, 4, 3, 2, 1, 0);
    }

    @Test
    void reshapeCopiesIfNoViewIsPossible() {
        NDArray transposed = x.transpose();
        NDArray copy = transposed.reshape(6);
        check(copy, new Shape(6), 0, 3, 1, 4, 2, 5);
        check(transposed.flatten(), new Shape(6), 0, 3, 1, 4, 2, 5);
        copy.set(new float[6]);
        check(x, new Shape(2, 3), 0, 1, 2, 3, 4, 5);
    }

    @Test
    void transpose() {
        check(x.transpose(), new Shape(3, 2), 0, 3, 1, 4, 2, 5);
        check(x.transpose(1, 0), new Shape(3, 2), 0, 3, 1, 4, 2, 5);
        check(x.transpose(-2, -1), new Shape(2, 3), 0, 1, 2, 3, 4, 5);
        check(x.swapAxes(0, -1), new Shape(3, 2), 0, 3, 1, 4, 2, 5);
        check(x.swapAxes(1, 1), new Shape(2, 3), 0, 1, 2, 3, 4, 5);
        NDArray cube = manager.arange(8f).reshape(2, 2, 2);
        check(cube.transpose(0, 2, 1), new Shape(2, 2, 2), 0, 2, 1, 3, 4, 6, 5, 7);
        check(cube.swapAxes(1, 2), new Shape(2, 2, 2), 0, 2, 1, 3, 4, 6, 5, 7);
        check(cube.transpose(2, 0, 1), new Shape(2, 2, 2), 0, 2, 4, 6, 1, 3, 5, 7);
        illegal(() -> x.transpose(0), "axes", "[0]", "(2, 3)");
        illegal(() -> x.transpose(0, 1, 2), "axes", "[0, 1, 2]", "(2, 3)");
        illegal(() -> x.transpose(0, 0), "axes");
        illegal(() -> x.transpose(0, 2), "axes", "2");
        illegal(() -> x.swapAxes(0, 2), "axis2", "2", "-2 to 1");
        illegal(() -> x.swapAxes(-3, 0), "axis1", "-3");
    }

    @Test
    void axesOfSizeOne() {
        check(x.expandDims(0), new Shape(1, 2, 3), 0, 1, 2, 3, 4, 5);
        check(x.expandDims(1), new Shape(2, 1, 3), 0, 1, 2, 3, 4, 5);
        check(x.expandDims(-1), new Shape(2, 3, 1), 0, 1, 2, 3, 4, 5);
        check(manager.create(7f).expandDims(0), new Shape(1), 7);
        illegal(() -> x.expandDims(3), "axis", "3", "-3 to 2");
        NDArray ones = x.reshape(1, 2, 1, 3, 1);
        check(ones.squeeze(), new Shape(2, 3), 0, 1, 2, 3, 4, 5);
        check(ones.squeeze(0), new Shape(2, 1, 3, 1), 0, 1, 2, 3, 4, 5);
        check(ones.squeeze(-1, 2), new Shape(1, 2, 3), 0, 1, 2, 3, 4, 5);
        check(ones.squeeze(new int[0]), new Shape(1, 2, 1, 3, 1), 0, 1, 2, 3, 4, 5);
        illegal(() -> ones.squeeze(1), "axis 1", "2");
        illegal(() -> ones.squeeze(5), "axis", "5");
        // With transposed elements these are views, too.
        x.transpose().expandDims(1).squeeze(1).set(new float[] {0, 30, 10, 40, 20, 50});
        check(x, new Shape(2, 3), 0, 10, 20, 30, 40, 50);
    }

    @Test
    void parts() {
        check(x.get(1), new Shape(3), 3, 4, 5);
        check(x.get(-1), new Shape(3), 3, 4, 5);
        check(x.get(1, 2), new Shape(), 5);
        check(x.get(), new Shape(2, 3), 0, 1, 2, 3, 4, 5);
        check(x.transpose().get(1), new Shape(2), 1, 4);
        check(x.slice(1, 1, 2), new Shape(2, 2), 1, 2, 4, 5);
        check(x.slice(-1, -2, 1), new Shape(2, 1), 1, 4);
        check(x.slice(0, 2, 0), new Shape(0, 3));
        x.get(0).set(new float[] {7, 8, 9});
        x.slice(1, 0, 1).set(new float[] {-1, -2});
        check(x, new Shape(2, 3), -1, 8, 9, -2, 4, 5);
        illegal(() -> x.get(2), "2");
        illegal(() -> x.get(0, -4), "-4");
        illegal(() -> x.get(0, 0, 0), "3 indices", "(2, 3)");
        illegal(() -> x.slice(2, 0, 1), "axis", "2");
        illegal(() -> x.slice(0, 1, 2), "2");
        illegal(() -> x.slice(0, 0, -1), "-1");
    }

    @Test
    void elements() {
        assertEquals(5, x.getFloat(1, 2));
        assertEquals(1, x.transpose().getFloat(1, 0));
        assertEquals(1.5f, manager.full(new Shape(2), 1.5f, DataType.BFLOAT16).getFloat(-1));
        assertEquals(Long.MIN_VALUE, manager.create(new long[] {1, Long.MIN_VALUE}).getLong(1));
        assertEquals(7, manager.create(7f).getFloat());
        illegal(() -> x.getFloat(1), "1 indices", "(2, 3)");
        illegal(() -> x.getFloat(1, 3), "3");
        assertThrows(IllegalStateException.class, () -> x.getLong(0, 0));
        assertThrows(IllegalStateException.class, () -> manager.create(new int[1]).getFloat(0));
    }

    @Test
    void viewsLiveWithoutTheArray() {
        NDArray view = x.get(1);
        x.close();
        check(view, new Shape(3), 3, 4, 5);
        view.close();
    }

    @Test
    void repeatAndBroadcast() {
        check(x.repeat(0, 2), new Shape(4, 3), 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5);
        check(x.repeat(-1, 2), new Shape(2, 6), 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5);
        check(x.transpose().repeat(1, 2), new Shape(3, 4), 0, 0, 3, 3, 1, 1, 4, 4, 2, 2, 5, 5);
        check(x.repeat(0, 0), new Shape(0, 3));
        NDArray eight = manager.arange(2f).reshape(1, 1, 1, 1, 1, 1, 1, 2);
        check(eight.repeat(7, 2), new Shape(1, 1, 1, 1, 1, 1, 1, 4), 0, 0, 1, 1);
        illegal(() -> x.repeat(0, -1), "-1");
        illegal(() -> x.repeat(2, 1), "axis", "2");
        illegal(() -> x.repeat(0, Long.MAX_VALUE), "overflow");
        check(x.get(0).broadcast(new Shape(2, 3)), new Shape(2, 3), 0, 1, 2, 0, 1, 2);
        check(manager.create(7f).broadcast(new Shape(2)), new Shape(2), 7, 7);
        illegal(() -> x.broadcast(new Shape(3, 3)), "(2, 3)", "(3, 3)");
    }

    private static void check(NDArray array, Shape shape, float... elements) {
        assertEquals(shape, array.getShape());
        assertArrayEquals(elements, array.toFloatArray());
    }

    private static void illegal(Executable use, String... words) {
        String sentence = assertThrows(IllegalArgumentException.class, use).getMessage();
        for (String word : words) {
            assertTrue(sentence.contains(word), sentence + " has no " + word);
        }
    }
}
