// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class NDManagerTest {
    @Test
    void createsArraysFromJava() {
        try (NDManager manager = TestDevice.newManager()) {
            check(manager.create(2.5f), DataType.FLOAT32, new Shape());
            assertArrayEquals(new float[] {2.5f}, manager.create(2.5f).toFloatArray());

            float[] floats = {1, 2, 3, 4, 5, 6};
            check(manager.create(floats), DataType.FLOAT32, new Shape(6));
            check(manager.create(floats, new Shape(2, 3)), DataType.FLOAT32, new Shape(2, 3));
            assertArrayEquals(floats, manager.create(floats, new Shape(2, 3)).toFloatArray());

            int[] ints = {Integer.MIN_VALUE, 0, 7, Integer.MAX_VALUE};
            check(manager.create(ints), DataType.INT32, new Shape(4));
            check(manager.create(ints, new Shape(2, 2)), DataType.INT32, new Shape(2, 2));
            assertArrayEquals(ints, manager.create(ints, new Shape(2, 2)).toIntArray());

            long[] longs = {Long.MIN_VALUE, 0, Long.MAX_VALUE};
            check(manager.create(longs), DataType.INT64, new Shape(3));
            check(manager.create(longs, new Shape(3, 1)), DataType.INT64, new Shape(3, 1));
            assertArrayEquals(longs, manager.create(longs, new Shape(3, 1)).toLongArray());

            check(manager.create(new float[0]), DataType.FLOAT32, new Shape(0));
            assertEquals(0, manager.create(new float[0]).toFloatArray().length);
        }
    }

    @Test
    void createsArraysOfOneValue() {
        try (NDManager manager = TestDevice.newManager()) {
            assertArrayEquals(new float[] {0, 0}, manager.zeros(new Shape(2)).toFloatArray());
            assertArrayEquals(new int[] {0, 0}, manager.zeros(new Shape(2), DataType.INT32).toIntArray());
            assertArrayEquals(new float[] {1, 1}, manager.ones(new Shape(1, 2)).toFloatArray());
            assertArrayEquals(new long[] {1, 1}, manager.ones(new Shape(2), DataType.INT64).toLongArray());
            assertArrayEquals(new float[] {0.5f, 0.5f}, manager.full(new Shape(2), 0.5f).toFloatArray());
            assertArrayEquals(new double[] {0.5}, manager.full(new Shape(1), 0.5f, DataType.FLOAT64).toDoubleArray());
            for (DataType type : DataType.values()) {
                check(manager.ones(new Shape(2, 0, 3), type), type, new Shape(2, 0, 3));
            }
        }
    }

    @Test
    void createsArraysOfEachType() {
        try (NDManager manager = TestDevice.newManager()) {
            check(manager.create(7), DataType.INT32, new Shape());
            assertArrayEquals(new int[] {7}, manager.create(7).toIntArray());
            assertArrayEquals(new long[] {1L << 40}, manager.create(1L << 40).toLongArray());
            assertArrayEquals(new double[] {0.1}, manager.create(0.1).toDoubleArray());
            assertArrayEquals(new byte[] {-7}, manager.create((byte) -7).toByteArray());
            assertArrayEquals(new boolean[] {true}, manager.create(true).toBooleanArray());

            double[] doubles = {0.1, -2, Double.MAX_VALUE, 4};
            check(manager.create(doubles), DataType.FLOAT64, new Shape(4));
            assertArrayEquals(doubles, manager.create(doubles, new Shape(2, 2)).toDoubleArray());
            byte[] bytes = {-128, 0, 127, 1};
            check(manager.create(bytes), DataType.INT8, new Shape(4));
            assertArrayEquals(bytes, manager.create(bytes, new Shape(2, 2)).toByteArray());
            boolean[] booleans = {true, false, false, true};
            check(manager.create(booleans), DataType.BOOLEAN, new Shape(4));
            assertArrayEquals(booleans, manager.create(booleans, new Shape(2, 2)).toBooleanArray());

            NDArray rows = manager.create(new float[][] {{1, 2, 3}, {4, 5, 6}});
            check(rows, DataType.FLOAT32, new Shape(2, 3));
            assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, rows.toFloatArray());
            check(manager.create(new float[0][]), DataType.FLOAT32, new Shape(0, 0));
            check(manager.create(new float[2][0]), DataType.FLOAT32, new Shape(2, 0));
            assertEquals(
                    "data[1] has 1 elements, data[0] has 2",
                    assertThrows(IllegalArgumentException.class, () -> manager.create(new float[][] {{1, 2}, {3}}))
                            .getMessage());
            check(manager.create(new Shape(2, 3)), DataType.FLOAT32, new Shape(2, 3));
            check(manager.create(new Shape(2), DataType.UINT8), DataType.UINT8, new Shape(2));
            assertArrayEquals(new byte[2], manager.create(new Shape(2), DataType.UINT8).toByteArray());
        }
    }

    @Test
    void namesBothCountsOfElements() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray six = manager.zeros(new Shape(2, 3));
            List<Executable> wrongCounts = List.of(
                    () -> manager.create(new float[5], new Shape(2, 3)),
                    () -> manager.create(new double[5], new Shape(2, 3)),
                    () -> manager.create(new int[5], new Shape(2, 3)),
                    () -> manager.create(new long[5], new Shape(2, 3)),
                    () -> manager.create(new byte[5], new Shape(2, 3)),
                    () -> manager.create(new boolean[5], new Shape(2, 3)),
                    () -> six.set(new float[5]),
                    () -> six.toType(DataType.INT32, true).set(new int[5]),
                    () -> six.toType(DataType.INT64, true).set(new long[5]));
            for (Executable wrong : wrongCounts) {
                assertEquals(
                        "data has 5 elements, the shape (2, 3) has 6",
                        assertThrows(IllegalArgumentException.class, wrong).getMessage());
            }
        }
    }

    @Test
    void createsSequences() {
        try (NDManager manager = TestDevice.newManager()) {
            assertArrayEquals(new int[] {0, 1, 2}, manager.arange(3).toIntArray());
            assertArrayEquals(new float[] {0, 1, 2}, manager.arange(2.5f).toFloatArray());
            assertArrayEquals(new float[] {1, 2, 3}, manager.arange(1, 3.5f).toFloatArray());
            assertArrayEquals(new float[] {1, 0.5f, 0}, manager.arange(1, -0.5f, -0.5f).toFloatArray());
            assertArrayEquals(new long[] {0, 3, 6}, manager.arange(0, 7, 3, DataType.INT64).toLongArray());
            assertEquals(0, manager.arange(-3).size());
            assertEquals(0, manager.arange(3, 1).size());
            for (Executable use : new Executable[] {
                () -> manager.arange(0, 1, 0),
                () -> manager.arange(Float.NaN),
                () -> manager.arange(Float.NEGATIVE_INFINITY),
                () -> manager.arange(0, 1, Float.NaN),
                () -> manager.arange(Float.POSITIVE_INFINITY, 1),
                () -> manager.arange(0, Float.MAX_VALUE)
            }) {
                assertThrows(IllegalArgumentException.class, use);
            }
        }
    }

    @Test
    void sequencesOfIntsAreInts() {
        try (NDManager manager = TestDevice.newManager()) {
            assertArrayEquals(new int[] {0, 2, 4, 6, 8}, manager.arange(0, 10, 2).toIntArray());
            assertArrayEquals(new int[] {-2, -1, 0}, manager.arange(-2, 1).toIntArray());
            assertArrayEquals(new int[] {3, 1, -1}, manager.arange(3, -2, -2).toIntArray());
            int large = (1 << 24) + 1;
            assertArrayEquals(new long[] {large}, manager.arange(large, large + 1, 1, DataType.INT64).toLongArray());
            assertArrayEquals(
                    new int[] {Integer.MIN_VALUE, -1, Integer.MAX_VALUE - 1},
                    manager.arange(Integer.MIN_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE).toIntArray());
            assertEquals(0, manager.arange(1, 1).size());
            assertEquals(DataType.FLOAT32, manager.arange(0, 10, 2f).getDataType());
            assertEquals("step is 0, expected another number",
                    assertThrows(IllegalArgumentException.class, () -> manager.arange(0, 10, 0)).getMessage());
        }
    }

    @Test
    void drawsRandomNumbers() {
        try (NDManager manager = TestDevice.newManager()) {
            Shape shape = new Shape(100, 100);
            manager.setSeed(7);
            NDArray uniform = manager.randomUniform(-2, 3, shape);
            NDArray normal = manager.randomNormal(shape);
            NDArray other = manager.randomNormal(shape);
            assertFalse(normal.contentEquals(other));
            double sum = 0;
            for (float element : uniform.toFloatArray()) {
                assertTrue(element >= -2 && element < 3);
                sum += element;
            }
            // Ten standard deviations of a mean over 10,000 numbers: 5 / sqrt(12 * 10,000) and 1 / sqrt(10,000).
            assertEquals(0.5, sum / 10_000, 0.15);
            double squares = 0;
            for (float element : normal.toFloatArray()) {
                squares += element * element;
            }
            assertEquals(1, squares / 10_000, 0.15);

            // A sub-manager draws from the same sequence.
            manager.setSeed(7);
            NDManager child = manager.newSubManager();
            assertTrue(uniform.contentEquals(child.randomUniform(-2, 3, shape, DataType.FLOAT32)));
            assertTrue(normal.contentEquals(manager.randomNormal(shape, DataType.FLOAT32)));
            NDArray scaled = child.randomNormal(10, 2, shape, DataType.FLOAT64);
            assertTrue(scaled.allClose(
                    manager.create(scaledBy(other.toFloatArray(), 10, 2), shape), 0, 1e-5, false));
            // Another manager draws other numbers.
            try (NDManager stranger = TestDevice.newManager()) {
                assertFalse(stranger.randomNormal(shape).contentEquals(manager.randomNormal(shape)));
            }
            assertThrows(IllegalArgumentException.class, () -> manager.randomUniform(1, 0, shape));
            assertThrows(IllegalArgumentException.class, () -> manager.randomUniform(Float.NaN, 0, shape));
            assertThrows(
                    IllegalArgumentException.class, () -> manager.randomNormal(0, -1, shape, DataType.FLOAT32));
        }
    }

    private static float[] scaledBy(float[] elements, float loc, float scale) {
        float[] scaled = elements.clone();
        for (int i = 0; i < scaled.length; i++) {
            scaled[i] = loc + scale * scaled[i];
        }
        return scaled;
    }

    @Test
    void flushesSubnormalNumbersIfAsked() {
        ContextOptions options = ContextOptions.builder().optFlushSubnormals(true).build();
        try (NDManager kept = NDManager.newBaseManager(Device.cpu());
                NDManager flushed = NDManager.newBaseManager(Device.cpu(), options)) {
            assertArrayEquals(new float[] {1e-40f}, timesOne(kept, 1e-40f));
            assertArrayEquals(new float[] {0}, timesOne(flushed, 1e-40f));
            assertTrue(flushed.describe().contains("\"flush_subnormals\": true"), flushed.describe());
        }
    }

    private static float[] timesOne(NDManager manager, float number) {
        NDArray matrix = manager.create(new float[] {number}, new Shape(1, 1));
        return matrix.matMul(manager.ones(new Shape(1, 1))).toFloatArray();
    }

    @Test
    void opensADeviceWithOptions() {
        ContextOptions options =
                ContextOptions.builder().optNumThreads(2).optStrict(true).optAllowReducedPrecision(true).build();
        NDManager manager = NDManager.newBaseManager(Device.cpu(), options);
        assertEquals(Device.cpu(), manager.getDevice());
        assertTrue(manager.describe().contains("\"strict\": true"), manager.describe());
        assertTrue(manager.newSubManager().describe().contains("\"strict\": true"));
        try (NDManager plain = TestDevice.newManager()) {
            assertTrue(plain.describe().contains("\"strict\": false"), plain.describe());
        }
        manager.synchronize();
        manager.trim();
        NDArray detached = manager.ones(new Shape(2));
        detached.detach();
        manager.close();
        assertArrayEquals(new float[] {1, 1}, detached.duplicate().toFloatArray());
        detached.close();

        ContextOptions many = ContextOptions.builder().optNumThreads(1025).build();
        String sentence = assertThrows(
                        IllegalArgumentException.class, () -> NDManager.newBaseManager(Device.cpu(), many))
                .getMessage();
        assertTrue(sentence.contains("numThreads") && sentence.contains("1025"), sentence);
    }

    @Test
    @Tag("cpu")
    void aDeviceWithoutItsPluginIsRefused() {
        assertEquals(1, Device.getCount("cpu"));
        assertEquals(0, Device.getCount("ascend"));
        HeedException error = assertThrows(HeedException.class, () -> NDManager.newBaseManager(Device.ascend()));
        assertEquals(Status.DEVICE_UNAVAILABLE, error.getStatus());
        assertTrue(
                error.getMessage().startsWith("device is Device.ascend(0), but libheed_ascend.so is not in \""),
                error.getMessage());
        assertTrue(error.getMessage().endsWith("or its folder in HEED_PLUGIN_PATH"), error.getMessage());
        // The CPU still works.
        try (NDManager manager = NDManager.newBaseManager()) {
            NDArray array = manager.ones(new Shape(2));
            assertThrows(HeedException.class, () -> array.toDevice(Device.ascend(), false));
            assertThrows(HeedException.class, () -> manager.newSubManager(Device.ascend()));
            assertArrayEquals(new float[] {1, 1}, array.toFloatArray());
        }
    }

    @Test
    void knowsItsParent() {
        try (NDManager manager = TestDevice.newManager()) {
            NDManager child = manager.newSubManager();
            assertSame(manager, child.getParentManager());
            assertNull(manager.getParentManager());
            assertEquals("NDManager " + TestDevice.DEVICE, child.toString());
        }
    }

    @Test
    void loadsAnArrayByName(@TempDir Path folder) {
        Path file = TestFiles.write(
                folder.resolve("größe \ud83d\ude00.safetensors"),
                "{\"zwölf\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}",
                (byte) 1, (byte) 2, (byte) 3);
        try (NDManager manager = TestDevice.newManager()) {
            check(manager.load(file, "zwölf"), DataType.UINT8, new Shape(3));
            check(manager.load(TestFiles.golden("d2l"), "bound"), DataType.FLOAT64, new Shape(2, 4, 100));
            check(manager.load(TestFiles.golden("d2l"), "valid_lens"), DataType.INT32, new Shape(2));
        }
    }

    @Test
    void closesItsArraysAndSubManagers() {
        NDManager manager = TestDevice.newManager();
        NDManager child = manager.newSubManager();
        NDArray own = manager.ones(new Shape(2));
        NDArray childs = child.ones(new Shape(2));
        NDManager other = manager.newSubManager();
        NDArray others = other.ones(new Shape(2));
        assertSame(child, childs.getManager());

        other.close();
        assertThrows(IllegalStateException.class, others::getShape);
        assertTrue(manager.isOpen());
        assertEquals(2, own.size());

        manager.close();
        manager.close();
        assertFalse(manager.isOpen());
        assertFalse(child.isOpen());
        assertEquals("NDManager (closed)", manager.toString());
        assertThrows(IllegalStateException.class, own::toFloatArray);
        assertThrows(IllegalStateException.class, childs::toFloatArray);
        for (Executable use : new Executable[] {
            () -> manager.create(1f),
            () -> manager.zeros(new Shape(1)),
            () -> manager.load(TestFiles.golden("d2l"), "bound"),
            manager::newSubManager,
            child::newSubManager
        }) {
            assertEquals("the manager is closed", assertThrows(IllegalStateException.class, use).getMessage());
        }
    }

    @Test
    void closesSubManagersHoweverDeep() {
        NDManager manager = TestDevice.newManager();
        NDManager[] managers = new NDManager[100_000];
        NDManager deepest = manager;
        for (int i = 0; i < managers.length; i++) {
            deepest = deepest.newSubManager();
            managers[i] = deepest;
        }
        NDArray array = deepest.ones(new Shape(2));
        manager.close();
        for (NDManager each : managers) {
            assertFalse(each.isOpen());
        }
        assertThrows(IllegalStateException.class, array::toFloatArray);
    }

    private static void check(NDArray array, DataType type, Shape shape) {
        assertEquals(type, array.getDataType());
        assertEquals(shape, array.getShape());
        assertEquals(shape.size(), array.size());
    }

    @Test
    void rowsOfEveryTypeAndNumbersOfEveryClassMakeArrays() {
        try (NDManager manager = TestDevice.newManager()) {
            assertArrayEquals(new int[] {1, 2, 3, 4}, manager.create(new int[][] {{1, 2}, {3, 4}}).toIntArray());
            assertArrayEquals(new long[] {1, 2}, manager.create(new long[][] {{1}, {2}}).toLongArray());
            assertArrayEquals(new double[] {0.1}, manager.create(new double[][] {{0.1}}).toDoubleArray());
            assertArrayEquals(new byte[] {-1, 1}, manager.create(new byte[][] {{-1, 1}}).toByteArray());
            assertArrayEquals(new boolean[] {true, false}, manager.create(new boolean[][] {{true, false}}).toBooleanArray());
            assertEquals(new Shape(0, 0), manager.create(new int[0][]).getShape());
            assertEquals(
                    "data[1] has 1 elements, data[0] has 2",
                    assertThrows(IllegalArgumentException.class, () -> manager.create(new int[][] {{1, 2}, {3}}))
                            .getMessage());
            Number[] numbers = {1.5f, 1.5, 2, (short) 2, 3L, (byte) 4};
            DataType[] types = {
                DataType.FLOAT32, DataType.FLOAT64, DataType.INT32, DataType.INT32, DataType.INT64, DataType.INT8
            };
            for (int i = 0; i < numbers.length; i++) {
                NDArray scalar = manager.create(numbers[i]);
                assertEquals(types[i], scalar.getDataType());
                assertEquals(new Shape(), scalar.getShape());
                assertEquals(numbers[i].doubleValue(), scalar.toType(DataType.FLOAT64, false).getDouble());
            }
            assertEquals(
                    "data is a BigInteger, expected a Float, Double, Integer, Short, Long or Byte",
                    assertThrows(IllegalArgumentException.class, () -> manager.create(BigInteger.ONE)).getMessage());
        }
    }
}
