// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Operations of arrays: computing, converting, comparing, saving and printing. */
class NDArrayOperationsTest {
    private static final float INF = Float.POSITIVE_INFINITY;

    private final NDManager manager = TestDevice.newManager();

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void matMul() {
        NDArray a = manager.create(new float[][] {{1, 2, 3}, {4, 5, 6}});
        NDArray b = manager.create(new float[][] {{1, 0}, {0, 2}, {1, 1}});
        check(a.matMul(b), new Shape(2, 2), 4, 7, 10, 16);
        check(b.transpose().matMul(a.transpose()), new Shape(2, 2), 4, 10, 7, 16);
        NDArray vector = manager.create(new float[] {1, -1, 1});
        check(a.matMul(vector), new Shape(2), 2, 5);
        check(vector.matMul(b), new Shape(2), 2, -1);
        check(vector.matMul(vector), new Shape(), 3);
        // A batch of two on one side, and a single matrix for all of it on the other.
        NDArray batch = a.reshape(2, 1, 3);
        check(batch.matMul(b), new Shape(2, 1, 2), 4, 7, 10, 16);
        check(vector.matMul(b.reshape(1, 3, 2)), new Shape(1, 2), 2, -1);
        check(a.reshape(1, 2, 1, 3).matMul(b.expandDims(0).repeat(0, 2)), new Shape(1, 2, 1, 2), 4, 7, 10, 16);
        check(manager.zeros(new Shape(2, 0)).matMul(manager.zeros(new Shape(0, 1))), new Shape(2, 1), 0, 0);
        NDArray halves = a.toType(DataType.FLOAT16, false);
        assertEquals(DataType.FLOAT16, halves.matMul(halves.transpose()).getDataType());
        illegal(() -> a.matMul(a), "(2, 3)");
        illegal(() -> a.matMul(halves), "FLOAT16");
        illegal(() -> a.matMul(manager.create(1f)), "rank");
        illegal(() -> manager.ones(new Shape(2, 2), DataType.INT32).matMul(a), "INT32");
    }

    @Test
    void batchDot() {
        NDArray a = manager.arange(8f).reshape(2, 2, 2);
        check(a.batchDot(a), new Shape(2, 2, 2), 2, 3, 6, 11, 46, 55, 66, 79);
        illegal(() -> a.batchDot(a.get(0)), "(2, 2)", "(B, K, N)");
        illegal(() -> a.batchDot(a.slice(0, 0, 1)), "(1, 2, 2)");
    }

    @Test
    void softmax() {
        float third = 1f / 3;
        check(manager.ones(new Shape(2, 3)).softmax(-1), new Shape(2, 3), third, third, third, third, third, third);
        check(manager.ones(new Shape(2, 3)).softmax(0), new Shape(2, 3), 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f);
        check(manager.create(new float[] {-INF, 3, 3, -INF}).softmax(0), new Shape(4), 0, 0.5f, 0.5f, 0);
        check(manager.create(new float[] {-INF, -INF}).softmax(0), new Shape(2), Float.NaN, Float.NaN);
        // A score that is larger by ln 3 has three times the weight.
        float[] weights = manager.create(new float[] {0, (float) Math.log(3)}).softmax(0).toFloatArray();
        assertEquals(0.25, weights[0], 1e-7);
        assertEquals(0.75, weights[1], 1e-7);
        illegal(() -> manager.ones(new Shape(2)).softmax(1), "axis", "1");
        illegal(() -> manager.create(1f).softmax(0), "rank");
        illegal(() -> manager.ones(new Shape(2), DataType.INT64).softmax(0), "INT64");
    }

    @Test
    void conversion() {
        NDArray x = manager.create(new float[] {-1.5f, 2.75f, 300, Float.NaN, INF});
        assertArrayEquals(
                new int[] {-1, 2, 300, 0, Integer.MAX_VALUE}, x.toType(DataType.INT32, false).toIntArray());
        assertArrayEquals(new byte[] {-1, 2, 127, 0, 127}, x.toType(DataType.INT8, false).toByteArray());
        assertArrayEquals(new byte[] {0, 2, -1, 0, -1}, x.toType(DataType.UINT8, false).toByteArray());
        assertArrayEquals(
                new boolean[] {true, true, true, true, true}, x.toType(DataType.BOOLEAN, false).toBooleanArray());
        assertArrayEquals(
                new double[] {-1.5, 2.75, 300, Double.NaN, INF}, x.toType(DataType.FLOAT64, false).toDoubleArray());
        assertSame(x, x.toType(DataType.FLOAT32, false));
        NDArray copy = x.toType(DataType.FLOAT32, true);
        assertNotSame(x, copy);
        copy.set(new float[5]);
        assertEquals(2.75f, x.getFloat(1));
        NDArray duplicate = x.duplicate();
        duplicate.set(new float[5]);
        assertEquals(2.75f, x.getFloat(1));
    }

    /** A byte other than 0 is true, and is read as Java's true. */
    @Test
    @Tag("cpu")
    void booleans() {
        ByteBuffer bytes = Buffers.direct(3).put(1, (byte) 7).put(2, (byte) -1);
        boolean[] elements = manager.wrap(bytes, new Shape(3), DataType.BOOLEAN).toBooleanArray();
        assertArrayEquals(new boolean[] {false, true, true}, elements);
        assertEquals("[false, true, true]", Arrays.toString(elements));
    }

    @Test
    void set() {
        NDArray x = manager.zeros(new Shape(2, 2));
        x.set(new float[] {1, 2, 3, 4});
        check(x, new Shape(2, 2), 1, 2, 3, 4);
        x.transpose().set(new float[] {1, 2, 3, 4});
        check(x, new Shape(2, 2), 1, 3, 2, 4);
        for (DataType half : new DataType[] {DataType.FLOAT16, DataType.BFLOAT16}) {
            NDArray halves = manager.zeros(new Shape(2), half);
            halves.set(new float[] {1.5f, 1 + 1f / 4096});
            check(halves, new Shape(2), 1.5f, 1);
        }
        NDArray ints = manager.create(new int[2]);
        ints.set(new int[] {5, 6});
        assertArrayEquals(new int[] {5, 6}, ints.toIntArray());
        NDArray longs = manager.create(new long[2]);
        longs.set(new long[] {5, Long.MAX_VALUE});
        assertArrayEquals(new long[] {5, Long.MAX_VALUE}, longs.toLongArray());
        illegal(() -> x.set(new float[3]), "3 elements", "has 4");
        illegal(() -> ints.set(new int[3]), "3 elements", "has 2");
        assertThrows(IllegalStateException.class, () -> x.set(new int[4]));
        assertThrows(IllegalStateException.class, () -> ints.set(new float[2]));
        assertThrows(IllegalStateException.class, () -> ints.set(new long[2]));
        illegal(() -> x.get(0).expandDims(0).set(new float[4]), "4 elements", "has 2");
    }

    @Test
    void copyTo() {
        NDArray x = manager.create(new float[] {1.5f, 2.5f});
        NDArray target = manager.zeros(new Shape(2, 2), DataType.INT32);
        x.copyTo(target);
        assertArrayEquals(new int[] {1, 2, 1, 2}, target.toIntArray());
        illegal(() -> x.copyTo(manager.zeros(new Shape(3))), "(2)", "(3)");
        illegal(() -> x.copyTo(x), "shares memory");
    }

    @Test
    void comparison() {
        NDArray x = manager.create(new float[] {1, 2, INF, 0});
        assertTrue(x.contentEquals(manager.create(new float[] {1, 2, INF, -0f})));
        assertFalse(x.contentEquals(manager.create(new float[] {1, 2, INF, Float.MIN_VALUE})));
        assertFalse(x.contentEquals(x.reshape(2, 2)));
        assertFalse(x.contentEquals(x.toType(DataType.FLOAT64, false)));
        NDArray nan = manager.create(new float[] {Float.NaN});
        assertFalse(nan.contentEquals(nan));
        NDArray large = manager.create(new long[] {1L << 53});
        assertFalse(large.contentEquals(manager.create(new long[] {(1L << 53) + 1})));
        assertTrue(large.contentEquals(large.duplicate()));

        assertTrue(x.allClose(manager.create(new float[] {1.000009f, 2, INF, 1e-8f})));
        assertFalse(x.allClose(manager.create(new float[] {1.00002f, 2, INF, 0})));
        assertFalse(x.allClose(manager.create(new float[] {1, 2, -INF, 0})));
        assertFalse(x.allClose(manager.create(new float[] {INF, 2, INF, 0})));
        assertFalse(manager.create(new float[] {INF}).allClose(manager.create(new float[] {1})));
        assertFalse(x.allClose(x.reshape(2, 2)));
        assertFalse(nan.allClose(nan));
        assertTrue(nan.allClose(nan, 0, 0, true));
        assertTrue(x.allClose(manager.create(new float[] {1.5f, 3, INF, 0}), 0.5, 0, false));
        assertTrue(x.allClose(manager.create(new double[] {1, 2, INF, 0.5}), 0, 0.5, false));
    }

    @Test
    void savesAndLoadsNpy(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("größe.npy");
        NDArray x = manager.arange(6f).reshape(2, 3).transpose();
        x.save(file);
        assertEquals("\u0093NUMPY", new String(Files.readAllBytes(file), 0, 6, "ISO-8859-1"));
        NDArray loaded = manager.load(file);
        assertTrue(x.contentEquals(loaded));
        HeedException missing =
                assertThrows(HeedException.class, () -> manager.load(folder.resolve("none.npy")));
        assertEquals(Status.IO, missing.getStatus());
        assertThrows(
                UnsupportedOperationException.class,
                () -> manager.ones(new Shape(1), DataType.BFLOAT16).save(folder.resolve("halves.npy")));
    }

    @Test
    void printsItsElements() {
        assertEquals(
                "ND: (2, 3) " + TestDevice.DEVICE + " float32\n[[0.0, 1.0, 2.0],\n [3.0, 4.0, 5.0]]\n",
                manager.arange(6f).reshape(2, 3).toDebugString());
        assertEquals(
                "ND: (2, 1, 2) " + TestDevice.DEVICE + " int64\n[[[0, 1]],\n [[2, 3]]]\n",
                manager.create(new long[] {0, 1, 2, 3}, new Shape(2, 1, 2)).toDebugString());
        assertEquals("ND: () " + TestDevice.DEVICE + " boolean\ntrue\n", manager.create(true).toDebugString());
        assertEquals(
                "ND: (1) " + TestDevice.DEVICE + " float64\n[0.1]\n",
                manager.create(new double[] {0.1}).toDebugString());
        assertEquals(
                "ND: (2, 0) " + TestDevice.DEVICE + " float32\n[]\n",
                manager.zeros(new Shape(2, 0)).toDebugString());
        assertEquals(
                "ND: (1001) " + TestDevice.DEVICE + " float32\n[ more than 1000 elements ]\n",
                manager.zeros(new Shape(1001)).toDebugString());
    }

    @Test
    void namesAreFoundInLists() {
        NDArray x = manager.create(1f);
        assertEquals(null, x.getName());
        x.setName("x");
        assertEquals("x", x.getName());
        NDList list = new NDList(null, manager.create(2f), x);
        assertSame(x, list.get("x"));
        assertEquals(null, list.get("y"));
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
