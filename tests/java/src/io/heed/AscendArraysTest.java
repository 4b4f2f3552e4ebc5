// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Arrays on an NPU, and copies to and from it. The tests of arrays on the CPU also run on the NPU. */
class AscendArraysTest {
    private static final Device NPU = Device.ascend();

    @TempDir
    Path folder;

    private final NDManager npu = NDManager.newBaseManager(NPU);
    private final NDManager host = NDManager.newBaseManager();

    @AfterEach
    void nothingIsLeft() throws InterruptedException {
        npu.close();
        host.close();
        Simulator.assertNothingIsLeft();
    }

    @Test
    void theDevice() {
        assertEquals(1, Device.getCount("ascend"));
        assertEquals(NPU, npu.getDevice());
        assertEquals("NDManager ascend(0)", npu.toString());
        assertTrue(npu.describe().contains("\"device\": \"ascend\""), npu.describe());
        String sentence = assertThrows(
                        IllegalArgumentException.class, () -> NDManager.newBaseManager(Device.ascend(1)))
                .getMessage();
        assertTrue(sentence.contains("the device's index is 1"), sentence);
    }

    @Test
    void elementsOfEachTypeThereAndBack() {
        assertArrayEquals(new float[] {1, -2}, npu.create(new float[] {1, -2}).toFloatArray());
        assertArrayEquals(new double[] {1e300, -2}, npu.create(new double[] {1e300, -2}).toDoubleArray());
        assertArrayEquals(new int[] {1, -2}, npu.create(new int[] {1, -2}).toIntArray());
        assertArrayEquals(new long[] {1L << 60, -2}, npu.create(new long[] {1L << 60, -2}).toLongArray());
        assertArrayEquals(new byte[] {1, -2}, npu.create(new byte[] {1, -2}).toByteArray());
        assertArrayEquals(
                new boolean[] {true, false}, npu.create(new boolean[] {true, false}).toBooleanArray());
        NDArray array = npu.create(new float[][] {{1, 2, 3}, {4, 5, 6}});
        assertEquals(NPU, array.getDevice());
        assertEquals("ND: (2, 3) ascend(0) float32\n[[1.0, 2.0, 3.0],\n [4.0, 5.0, 6.0]]\n", array.toDebugString());
        assertEquals(6, array.getFloat(1, 2));
        assertEquals(2, array.toType(DataType.INT64, false).getLong(0, 1));
        assertEquals(4f, array.toByteBuffer().asFloatBuffer().get(3));

        array.set(new float[] {6, 5, 4, 3, 2, 1});
        array.get(1).set(new float[] {30, 20, 10});
        assertArrayEquals(new float[] {6, 30, 5, 20, 4, 10}, array.transpose().toFloatArray());
        array.slice(1, 1, 1).set(new float[] {-1, -2});
        assertArrayEquals(new float[] {6, -1, 4, 30, -2, 10}, array.toFloatArray());
        ByteBuffer bigEndian = ByteBuffer.allocate(24).order(ByteOrder.BIG_ENDIAN);
        bigEndian.putFloat(20, 7);
        array.set(bigEndian.asFloatBuffer());
        assertArrayEquals(new float[] {0, 0, 0, 0, 0, 7}, array.toFloatArray());
        assertArrayEquals(
                new float[] {0, 0, 0, 0, 0, 7},
                npu.create(bigEndian.asFloatBuffer(), new Shape(6)).toFloatArray());
    }

    /** Methods that would have to access the device's memory from Java are refused. */
    @Test
    void itsMemoryIsNotJavas() {
        NDArray array = npu.ones(new Shape(2));
        String view = assertThrows(IllegalStateException.class, array::toFloatBuffer)
                .getMessage();
        assertEquals("toFloatBuffer needs an array on the CPU, this one is on ascend(0); toFloatArray copies", view);
        ByteBuffer buffer = npu.allocateDirect(8);
        String wrap = assertThrows(
                        UnsupportedOperationException.class,
                        () -> npu.wrap(buffer, new Shape(2), DataType.FLOAT32))
                .getMessage();
        assertEquals("wrap needs a manager for cpu(), this one is for ascend(0); create(data, shape) copies", wrap);
    }

    @Test
    void toDevice() {
        NDArray array = host.arange(6f).reshape(2, 3).transpose();
        assertSame(array, array.toDevice(Device.cpu(), false));
        assertNotSame(array, array.toDevice(Device.cpu(), true));
        NDArray there = array.toDevice(NPU, false);
        assertEquals(NPU, there.getDevice());
        assertEquals(NPU, there.getManager().getDevice());
        assertEquals(new Shape(3, 2), there.getShape());
        assertArrayEquals(array.toFloatArray(), there.toFloatArray());
        assertSame(there, there.toDevice(NPU, false));
        NDArray back = there.reshape(6).toDevice(Device.cpu(), false);
        assertArrayEquals(new float[] {0, 3, 1, 4, 2, 5}, back.toFloatArray());
        // The manager of the original array, since that one closes all its arrays.
        assertSame(host, back.getManager());
        assertSame(there.getManager(), back.toDevice(NPU, false).getManager());
        assertEquals(3f, back.toFloatBuffer().get(1));

        for (DataType type : DataType.values()) {
            NDArray typed = array.toType(type, false);
            NDArray moved = typed.toDevice(NPU, false);
            assertEquals(type, moved.getDataType());
            assertTrue(typed.contentEquals(moved), type.name());
        }
        assertTrue(array.allClose(there));
        array.copyTo(there);
        there.copyTo(array);
        assertThrows(IllegalArgumentException.class, () -> there.attach(host));
        assertThrows(IllegalArgumentException.class, () -> array.attach(npu));
        there.attach(npu);
        assertSame(npu, there.getManager());

        NDList list = new NDList(array, null, there).toDevice(NPU, false);
        assertEquals(3, list.size());
        assertEquals(NPU, list.get(0).getDevice());
        assertNull(list.get(1));
        assertSame(there, list.get(2));
        assertThrows(NullPointerException.class, () -> array.toDevice(null, false));
        assertThrows(NullPointerException.class, () -> list.toDevice(null, false));

        NDArray left = array.toDevice(NPU, false);
        NDArray closed = host.ones(new Shape(1));
        closed.close();
        assertThrows(IllegalStateException.class, () -> closed.toDevice(NPU, false));
        host.close();
        assertTrue(left.isReleased());
        assertTrue(back.isReleased());
        assertArrayEquals(new float[] {0, 3, 1, 4, 2, 5}, there.toFloatArray());
    }

    @Test
    void managersOfManagers() {
        NDManager sub = host.newSubManager(NPU);
        assertEquals(NPU, sub.getDevice());
        assertSame(host, sub.getParentManager());
        NDArray array = sub.ones(new Shape(3));
        assertEquals(NPU, array.getDevice());
        assertEquals(NPU, sub.newSubManager().getDevice());
        assertEquals(Device.cpu(), sub.newSubManager(Device.cpu()).getDevice());
        host.setSeed(5);
        NDArray numbers = host.randomNormal(new Shape(8));
        sub.setSeed(5);
        assertTrue(numbers.contentEquals(sub.randomNormal(new Shape(8))));
        assertThrows(NullPointerException.class, () -> host.newSubManager(null));
        host.close();
        assertTrue(array.isReleased());
        assertThrows(IllegalStateException.class, () -> sub.ones(new Shape(1)));
        assertThrows(IllegalStateException.class, () -> host.newSubManager(NPU));
    }

    @Test
    void detachedArraysOutliveTheirManagers() {
        NDArray array = npu.create(new float[] {1, 2});
        NDArray moved = host.create(new float[] {3, 4}).toDevice(NPU, false);
        array.detach();
        moved.detach();
        npu.close();
        host.close();
        try (NDArray copy = array.duplicate();
                NDArray here = moved.toDevice(Device.cpu(), false)) {
            assertArrayEquals(new float[] {1, 2}, copy.toFloatArray());
            assertEquals(NPU, copy.getDevice());
            assertEquals(3f, here.toFloatBuffer().get(0));
            here.set(new float[] {5, 6});
            here.copyTo(array);
            assertArrayEquals(new float[] {5, 6}, array.toFloatArray());
        }
        array.close();
        moved.close();
    }

    @Test
    void files() {
        NDArray array = npu.arange(12f).reshape(3, 4).transpose();
        Path file = folder.resolve("array.npy");
        array.save(file);
        assertTrue(host.load(file).contentEquals(array));
        NDArray loaded = npu.load(file);
        assertEquals(NPU, loaded.getDevice());
        assertTrue(loaded.contentEquals(array));
        NDArray golden = npu.load(TestFiles.golden("d2l"), "queries");
        assertTrue(golden.contentEquals(host.load(TestFiles.golden("d2l"), "queries")));
    }

    @Test
    void theDevicesMemoryIsFull() {
        Simulator.leaveRoomFor(1_000_000);
        String sentence = assertThrows(OutOfMemoryError.class, () -> npu.zeros(new Shape(1_000_000)))
                .getMessage();
        assertTrue(sentence.contains("4000000"), sentence);
        assertArrayEquals(new float[1000], npu.zeros(new Shape(1000)).toFloatArray());
    }
}
