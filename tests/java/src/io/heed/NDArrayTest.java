// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class NDArrayTest {
    @Test
    void widensFloatsOf16Bits(@TempDir Path folder) {
        // 1.5, -2 and the largest finite number of each type.
        Path file = TestFiles.write(
                folder.resolve("halves"),
                "{\"f16\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,6]},"
                        + "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[6,12]}}",
                bytes(0x3e00, 0xc000, 0x7bff, 0x3fc0, 0xc000, 0x7f7f));
        try (NDManager manager = TestDevice.newManager()) {
            assertArrayEquals(new float[] {1.5f, -2, 65504}, manager.load(file, "f16").toFloatArray());
            assertArrayEquals(
                    new float[] {1.5f, -2, Float.intBitsToFloat(0x7f7f0000)},
                    manager.load(file, "bf16").toFloatArray());
        }
    }

    @Test
    void refusesToBeReadAsAnotherType() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray floats = manager.ones(new Shape(2));
            NDArray longs = manager.ones(new Shape(2), DataType.INT64);
            NDArray doubles = manager.ones(new Shape(2), DataType.FLOAT64);
            for (Executable use : new Executable[] {
                floats::toIntArray, floats::toLongArray, floats::toDoubleArray,
                longs::toFloatArray, longs::toIntArray, doubles::toFloatArray
            }) {
                assertThrows(IllegalStateException.class, use);
            }
            assertEquals(
                    "toFloatArray needs an array of FLOAT32, FLOAT16 or BFLOAT16, this one is of INT64",
                    assertThrows(IllegalStateException.class, longs::toFloatArray).getMessage());
        }
    }

    /** Of a shape-only array, which takes no memory. */
    @Test
    void refusesToBeReadIfItIsTooLargeForAJavaArray() {
        long[] dims = {1L << 31};
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.BFLOAT16, DataType.INT64}) {
            try (NativeTensor tensor = TestLayers.shapeOnly(Library.context(), type, dims)) {
                NDArray array = new NDArray(null, tensor);
                Executable use = type == DataType.INT64 ? array::toLongArray : array::toFloatArray;
                assertEquals(
                        "the array has 2147483648 elements, more than a Java array can hold",
                        assertThrows(IllegalStateException.class, use).getMessage());
            }
        }
    }

    @Test
    void belongsToOneManagerAfterAnother() {
        NDManager first = TestDevice.newManager();
        NDManager second = first.newSubManager();
        NDArray array = first.ones(new Shape(2));
        array.attach(second);
        array.attach(second);
        assertSame(second, array.getManager());
        assertSame(second, array.duplicate().getManager());
        second.close();
        assertTrue(array.isReleased());
        assertEquals(
                "the array is closed",
                assertThrows(IllegalStateException.class, () -> array.attach(first)).getMessage());

        NDArray other = first.ones(new Shape(2));
        assertEquals(
                "the manager is closed",
                assertThrows(IllegalStateException.class, () -> other.attach(second)).getMessage());
        assertSame(first, other.getManager());
        assertFalse(other.isReleased());
        first.close();
        assertTrue(other.isReleased());
    }

    @Test
    void hasNoManagerAfterDetach() {
        NDManager manager = TestDevice.newManager();
        NDArray array = manager.create(new float[] {1, 2});
        array.detach();
        array.detach();
        manager.close();
        NDManager nobody = array.getManager();
        assertEquals(TestDevice.DEVICE, array.getDevice());
        nobody.close();
        assertTrue(nobody.isOpen());
        NDArray view = array.reshape(2, 1);
        array.close();
        assertArrayEquals(new float[] {1, 2}, view.toFloatArray());
        assertTrue(nobody.newSubManager().isOpen());
        try (NDManager owner = TestDevice.newManager()) {
            view.attach(owner);
        }
        assertTrue(view.isReleased());
    }

    @Test
    void aParameterIsWrittenThroughItsBlock() {
        try (NDManager manager = TestDevice.newManager();
                NativeLayer layer = TestLayers.linear(manager.openContext())) {
            ByteBuffer name = NativeText.of("weight", "name");
            NativeTensor snapshot = layer.parameter(name);
            manager.own(snapshot);
            NDArray weight = new NDArray(manager, snapshot, new NDArray.Writer() {
                @Override
                public void write(NativeTensor value) {
                    layer.setParameter(name, value);
                }

                @Override
                public NativeTensor current() {
                    return layer.parameter(name);
                }
            });
            float[] elements = {1, 2, 3, 4, 5, 6};
            weight.set(elements);
            assertArrayEquals(elements, weight.toFloatArray());
            assertFalse(snapshot.isOpen());
            try (NDArray found = manager.adopt(layer.parameter(name))) {
                assertArrayEquals(elements, found.toFloatArray());
            }
            weight.set(FloatBuffer.wrap(new float[] {6, 5, 4, 3, 2, 1}));
            assertArrayEquals(new float[] {6, 5, 4, 3, 2, 1}, weight.toFloatArray());
            manager.create(new int[] {7, 8, 9}).copyTo(weight);
            assertArrayEquals(new float[] {7, 8, 9, 7, 8, 9}, weight.toFloatArray());
            assertThrows(IllegalArgumentException.class, () -> weight.set(new float[5]));
            assertArrayEquals(new float[] {7, 8, 9, 7, 8, 9}, weight.toFloatArray());
            String sentence = assertThrows(IllegalArgumentException.class, () -> weight.get(0).set(new float[3]))
                    .getMessage();
            assertTrue(sentence.contains("read-only"), sentence);
        }
    }

    @Test
    void hasAText() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray array = manager.ones(new Shape(2, 3), DataType.BFLOAT16);
            assertEquals("NDArray (2, 3) bfloat16", array.toString().substring(0, 23));
            assertSame(manager, array.getManager());
            array.close();
            assertEquals("NDArray (2, 3) bfloat16 (closed)", array.toString());
            assertSame(manager, array.getManager());
        }
    }

    /** Methods that a loop may call each time. */
    @Test
    void gettersAllocateNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        try (NDManager manager = TestDevice.newManager()) {
            NDArray array = manager.ones(new Shape(2, 3));
            long before = threads.getThreadAllocatedBytes(thread);
            long sum = 0;
            for (int i = 0; i < 10_000; i++) {
                sum += array.getShape().get(1) + array.getShape().dimension() + array.getDataType().getNumOfBytes()
                        + array.size(0) + array.size() + (array.isReleased() ? 1 : 0)
                        + (array.getManager().isOpen() ? 1 : 0) + (array.getDevice() == TestDevice.DEVICE ? 1 : 0);
            }
            long allocated = threads.getThreadAllocatedBytes(thread) - before;
            assertEquals(10_000 * (3 + 2 + 4 + 2 + 6 + 0 + 1 + 1), sum);
            // One object per call would be 160,000 bytes.
            assertTrue(allocated < 16_000, allocated + " bytes");
        }
    }

    @Test
    void cannotBeUsedOnceClosed() {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray array = manager.ones(new Shape(2));
            array.close();
            array.close();
            for (Executable use : new Executable[] {
                array::getShape, array::getDataType, array::size, array::toFloatArray, array::toIntArray,
                array::toLongArray, array::toDoubleArray
            }) {
                assertEquals("the array is closed", assertThrows(IllegalStateException.class, use).getMessage());
            }
        }
    }

    private static byte[] bytes(int... halves) {
        byte[] bytes = new byte[2 * halves.length];
        for (int i = 0; i < halves.length; i++) {
            bytes[2 * i] = (byte) halves[i];
            bytes[2 * i + 1] = (byte) (halves[i] >> 8);
        }
        return bytes;
    }
}
