// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Indices and getters as Java writes them. What indices mean is in tests/bindings/cases/index_table.txt. */
class NDIndexTest {
    private final NDManager manager = TestDevice.newManager();
    private final NDArray cube = manager.arange(24).reshape(2, 3, 4);

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void argumentsStandForNumbersAndNewAxes() {
        assertEquals(new Shape(1, 1, 2, 4), cube.get(new NDIndex(":{}, {}, {}:", 1, null, 1L)).getShape());
        assertEquals("0:2:-1, null", new NDIndex("0:{}:{},{}", 2, -1, null).toString());
        for (Object[] args : new Object[][] {{}, {1, 2}, {1.0}, {"1"}}) {
            String message = assertThrows(IllegalArgumentException.class, () -> cube.get("{}", args)).getMessage();
            assertTrue(message.endsWith("expected for each {} a whole number, alone an array of indices or a mask, or null for a new axis"), message);
        }
    }

    @Test
    void aMaskMayBeTheArrayInAnotherOrder() {
        NDArray truths = manager.create(new boolean[] {false, true, false, false}, new Shape(2, 2));
        truths.set(truths.transpose(), 1);
        assertArrayEquals(new boolean[] {false, true, true, false}, truths.toBooleanArray());
        truths.set(truths.flip(0), 1);
        assertArrayEquals(new boolean[] {true, true, true, true}, truths.toBooleanArray());
    }

    @Test
    void anIndexHasArraysAndMasks() {
        NDArray rows = manager.create(new long[] {1, 0});
        NDArray mask = manager.create(new boolean[] {true, false, true});
        NDIndex index = new NDIndex().addIndices(rows).addSliceDim(0, 2);
        assertEquals("array (2) int64, 0:2", index.toString());
        assertEquals(new Shape(2, 2, 4), cube.get(index).getShape());
        NDIndex masked = new NDIndex(0).addBooleanIndex(mask);
        assertEquals(2, masked.getRank());
        assertArrayEquals(new int[] {0, 1, 2, 3, 8, 9, 10, 11}, cube.get(masked).toIntArray());
        assertEquals(3, new NDIndex("{}", cube.gt(3)).getRank());
        cube.set(masked, part -> part.neg());
        assertArrayEquals(new int[] {-8, -9, -10, -11}, cube.get(0, 2).toIntArray());
        assertArrayEquals(new long[] {1}, rows.get(new NDIndex().addBooleanIndex(rows)).toLongArray());
        assertEquals(
                "args[0] is an array of FLOAT32, expected INT32 or INT64 for indices, or BOOLEAN for a mask: use toType",
                assertThrows(IllegalArgumentException.class, () -> cube.get("{}", manager.ones(new Shape(1)))).getMessage());
        assertThrows(IllegalArgumentException.class, () -> cube.get("{}:", rows));
        rows.close();
        assertEquals(
                "the array indices is closed",
                assertThrows(IllegalStateException.class, () -> cube.get(index)).getMessage());
    }

    @Test
    void partsAreSetByAFunctionAndByOneElement() {
        cube.set(new NDIndex("0, 0"), part -> part.flip());
        assertArrayEquals(new int[] {3, 2, 1, 0}, cube.get(0, 0).toIntArray());
        cube.setScalar(new NDIndex(0, 0, 0), 5);
        assertEquals(5, cube.getInt(0, 0, 0));
        assertEquals(
                "index is \"0, 0\", a part of shape (4), expected an index of each axis",
                assertThrows(IllegalArgumentException.class, () -> cube.setScalar(new NDIndex(0, 0), 5)).getMessage());
        assertThrows(IllegalStateException.class, () -> cube.set(new NDIndex("0"), part -> {
            part.close();
            return part;
        }));
    }

    @Test
    void elementsOfEachTypeAreRead() {
        assertEquals(23, cube.getInt(-1, -1, -1));
        assertEquals(0.1, manager.create(new double[] {0.1}).getDouble(0));
        assertEquals(-3, manager.create(new byte[] {-3}).getByte(0));
        assertEquals(200, manager.full(new Shape(1), 200, DataType.UINT8).getUint8(0));
        assertTrue(manager.create(new boolean[] {true}).getBoolean(0));
        assertEquals(
                "getDouble needs an array of FLOAT64, this one is of INT32",
                assertThrows(IllegalStateException.class, () -> cube.getDouble(0, 0, 0)).getMessage());
        assertThrows(IllegalArgumentException.class, () -> cube.getInt(0));
    }
}
