// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class NDManagerTest {
    @Test
    void createsArraysFromJava() {
        try (NDManager manager = NDManager.newBaseManager()) {
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
        try (NDManager manager = NDManager.newBaseManager()) {
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
    void loadsAnArrayByName(@TempDir Path folder) {
        Path file = TestFiles.write(
                folder.resolve("größe \ud83d\ude00.safetensors"),
                "{\"zwölf\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}",
                (byte) 1, (byte) 2, (byte) 3);
        try (NDManager manager = NDManager.newBaseManager()) {
            check(manager.load(file, "zwölf"), DataType.UINT8, new Shape(3));
            check(manager.load(TestFiles.golden("d2l"), "bound"), DataType.FLOAT64, new Shape(2, 4, 100));
            check(manager.load(TestFiles.golden("d2l"), "valid_lens"), DataType.INT32, new Shape(2));
        }
    }

    @Test
    void closesItsArraysAndSubManagers() {
        NDManager manager = NDManager.newBaseManager();
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
        NDManager manager = NDManager.newBaseManager();
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
}
