// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Arrays as elements of collections. */
class NDArrayEqualsTest {
    private final NDManager manager = TestDevice.newManager();

    @AfterEach
    void close() {
        manager.close();
    }

    private void equal(NDArray left, NDArray right) {
        assertEquals(left, right);
        assertEquals(right, left);
        assertEquals(left.hashCode(), right.hashCode());
    }

    @Test
    void typeShapeAndContents() {
        NDArray array = manager.create(new float[] {1, 2, 3, 4}, new Shape(2, 2));
        equal(array, array.duplicate());
        equal(array, array.transpose().duplicate().transpose());
        assertNotEquals(array, array.reshape(4));
        assertNotEquals(array, array.toType(DataType.FLOAT16, false));
        assertNotEquals(array, array.transpose());
        assertNotEquals(array, "(2, 2)");
        assertFalse(array.equals(null));
        equal(manager.zeros(new Shape(0, 3)), manager.zeros(new Shape(0, 3)));
        assertNotEquals(manager.create(new long[] {Long.MAX_VALUE}), manager.create(new long[] {Long.MAX_VALUE - 1}));
        equal(manager.create(true), manager.create(true));
        assertNotEquals(manager.create(true), manager.create(false));
    }

    @Test
    void notANumberIsItself() {
        for (DataType type : List.of(DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16)) {
            NDArray array = manager.create(new float[] {Float.NaN, 0}, new Shape(2)).toType(type, false);
            equal(array, array.duplicate());
            assertFalse(array.contentEquals(array.duplicate()));
            equal(manager.create(0f), manager.create(-0f));
        }
        equal(manager.create(Double.NaN), manager.create(Double.NaN));
        assertNotEquals(manager.create(Float.NaN), manager.create(0f));
    }

    /** More elements than are compared at once. */
    @Test
    void largeArrays() {
        long size = (1 << 20) + 3;
        NDArray array = manager.zeros(new Shape(size), DataType.INT8);
        NDArray other = manager.zeros(new Shape(size), DataType.INT8);
        equal(array, other);
        other.get(new NDIndex("{}:", size - 1)).set(manager.ones(new Shape(1), DataType.INT8).toByteBuffer());
        assertNotEquals(array, other);
        assertFalse(array.contentEquals(other));
    }

    @Test
    void otherManagersAndClosedArrays() {
        NDArray array = manager.ones(new Shape(3));
        try (NDManager single = NDManager.newBaseManager(
                Device.cpu(), ContextOptions.builder().optNumThreads(1).build())) {
            NDArray other = single.ones(new Shape(3));
            equal(array, other);
            other.close();
            assertNotEquals(array, other);
            assertNotEquals(other, array);
            assertEquals(other, other);
            assertEquals(array.hashCode(), other.hashCode());
        }
    }

    @Test
    void collections() {
        NDArray array = manager.ones(new Shape(3));
        Set<NDArray> set = new HashSet<>(List.of(array));
        assertTrue(set.contains(manager.ones(new Shape(3))));
        assertEquals(1, new NDList(manager.zeros(new Shape(3)), array).indexOf(manager.ones(new Shape(3))));
        assertEquals(new NDList(array), new NDList(array.duplicate()));
        array.set(new float[] {1, 2, 3});
        assertTrue(set.contains(array));
    }
}
