// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Elements copied or shared between Java's buffers and arrays. */
class NDArrayBuffersTest {
    private static final ByteOrder NATIVE = ByteOrder.nativeOrder();
    private static final ByteOrder OTHER =
            NATIVE == ByteOrder.LITTLE_ENDIAN ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;

    private final NDManager manager = TestDevice.newManager();

    @AfterEach
    void close() {
        manager.close();
    }

    // ---- Copies in --------------------------------------------------------------------------------------------------

    @Test
    void copiesBuffersOfEachType() {
        Shape two = new Shape(2);
        check(manager.create(FloatBuffer.wrap(new float[] {1, 2}), two), DataType.FLOAT32, 1, 2);
        check(manager.create(DoubleBuffer.wrap(new double[] {1, 2}), two), DataType.FLOAT64, 1, 2);
        check(manager.create(IntBuffer.wrap(new int[] {1, 2}), two), DataType.INT32, 1, 2);
        check(manager.create(LongBuffer.wrap(new long[] {1, 2}), two), DataType.INT64, 1, 2);
        check(manager.create(ByteBuffer.wrap(new byte[] {1, 2}), two), DataType.INT8, 1, 2);
        check(manager.create(ByteBuffer.wrap(new byte[] {1, 2}), two, DataType.UINT8), DataType.UINT8, 1, 2);
        check(manager.create(ByteBuffer.wrap(new byte[] {1, 0}), two, DataType.BOOLEAN), DataType.BOOLEAN, 1, 0);
        ShortBuffer halves = ShortBuffer.wrap(new short[] {0x3c00, 0x4000});
        check(manager.create(halves, two, DataType.FLOAT16), DataType.FLOAT16, 1, 2);
        ShortBuffer brains = ShortBuffer.wrap(new short[] {0x3f80, 0x4000});
        check(manager.create(brains, two, DataType.BFLOAT16), DataType.BFLOAT16, 1, 2);
        check(manager.create(FloatBuffer.allocate(0), new Shape(3, 0)), DataType.FLOAT32);
    }

    /** A byte other than 0 is true, and is read as Java's true. */
    @Test
    @Tag("cpu")
    void booleansAreTrueOrFalse() {
        ByteBuffer bytes = Buffers.direct(3).put(1, (byte) 7).put(2, (byte) -1);
        boolean[] elements = manager.wrap(bytes, new Shape(3), DataType.BOOLEAN).toBooleanArray();
        assertArrayEquals(new boolean[] {false, true, true}, elements);
        assertEquals("[false, true, true]", Arrays.toString(elements));
    }

    @Test
    void copiesBothByteOrdersWhereverTheyAre() {
        for (ByteOrder order : new ByteOrder[] {NATIVE, OTHER}) {
            for (boolean direct : new boolean[] {false, true}) {
                ByteBuffer bytes = (direct ? ByteBuffer.allocateDirect(40) : ByteBuffer.allocate(40)).order(order);
                bytes.putFloat(8, 1.5f).putFloat(12, -2).position(8).limit(16);
                ByteBuffer constant = bytes.asReadOnlyBuffer().order(order);
                for (ByteBuffer data : new ByteBuffer[] {bytes, constant}) {
                    check(manager.create(data, new Shape(2), DataType.FLOAT32), DataType.FLOAT32, 1.5f, -2);
                    check(manager.create(data.asFloatBuffer(), new Shape(2)), DataType.FLOAT32, 1.5f, -2);
                    assertEquals(8, data.position());
                    assertEquals(16, data.limit());
                    assertSame(order, data.order());
                }
                checkWide(bytes);
            }
        }
    }

    private void checkWide(ByteBuffer bytes) {
        bytes.limit(24).putLong(8, -5).putLong(16, 1L << 40);
        assertArrayEquals(
                new long[] {-5, 1L << 40}, manager.create(bytes, new Shape(2), DataType.INT64).toLongArray());
        assertArrayEquals(new long[] {-5, 1L << 40}, manager.create(bytes.asLongBuffer(), new Shape(2)).toLongArray());
        bytes.putDouble(8, -0.5).limit(16);
        assertArrayEquals(new double[] {-0.5}, manager.create(bytes.asDoubleBuffer(), new Shape(1)).toDoubleArray());
        bytes.putInt(8, 1 << 20).limit(12);
        assertArrayEquals(new int[] {1 << 20}, manager.create(bytes.asIntBuffer(), new Shape(1)).toIntArray());
        bytes.putShort(8, (short) 0x3c00).limit(10);
        check(manager.create(bytes, new Shape(1), DataType.FLOAT16), DataType.FLOAT16, 1);
        check(manager.create(bytes.asShortBuffer(), new Shape(1), DataType.FLOAT16), DataType.FLOAT16, 1);
    }

    /** A direct buffer at an odd address, with more elements than are copied at a time, and slices of slices. */
    @Test
    void copiesFromAnywhere() {
        ByteBuffer odd = ByteBuffer.allocateDirect(9).order(NATIVE);
        odd.putFloat(1, 3).putFloat(5, 4).position(1);
        check(manager.create(odd, new Shape(2), DataType.FLOAT32), DataType.FLOAT32, 3, 4);
        float[] many = new float[1_000_003];
        for (int i = 0; i < many.length; i++) {
            many[i] = i;
        }
        FloatBuffer part = FloatBuffer.wrap(many, 1, many.length - 2).slice();
        part.position(1);
        float[] found = manager.create(part, new Shape(1000, 1000)).toFloatArray();
        for (int i = 0; i < found.length; i++) {
            assertEquals(i + 2, found[i]);
        }
        assertEquals(1, part.position());
    }

    @Test
    void setTakesBuffers() {
        NDArray x = manager.zeros(new Shape(2, 2));
        x.set(FloatBuffer.wrap(new float[] {1, 2, 3, 4}));
        check(x, DataType.FLOAT32, 1, 2, 3, 4);
        ByteBuffer bytes = ByteBuffer.allocateDirect(16).order(OTHER);
        bytes.asFloatBuffer().put(new float[] {5, 6, 7, 8});
        x.transpose().set(bytes);
        check(x, DataType.FLOAT32, 5, 7, 6, 8);
        illegal(() -> x.set(FloatBuffer.allocate(3)), "3 elements", "(2, 2)", "4");
        illegal(() -> x.set(IntBuffer.allocate(4)), "IntBuffer", "FLOAT32");
    }

    /** Another thread changes the limit all the time: the elements are right, or the count is refused. */
    @Test
    @Tag("cpu")
    void aBufferThatChangesMeanwhile() throws InterruptedException {
        FloatBuffer data = manager.allocateDirect(1 << 16).asFloatBuffer();
        Shape shape = new Shape(data.capacity());
        Thread changing = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                data.position(data.capacity());
                data.position(0);
            }
        });
        changing.start();
        NDArray target = manager.zeros(shape);
        for (int i = 0; i < 2000; i++) {
            try {
                manager.wrap(data, shape).close();
                target.set(data);
                manager.create(data, shape).close();
            } catch (IllegalArgumentException error) {
                assertTrue(error.getMessage().startsWith("data has 0 elements"), error.getMessage());
            }
        }
        changing.interrupt();
        changing.join();
    }

    @Test
    void refusesInvalidBuffers() {
        Shape two = new Shape(2);
        illegal(() -> manager.create(FloatBuffer.allocate(1), two), "1 elements", "(2)", "2");
        illegal(() -> manager.create(FloatBuffer.allocate(3), two), "3 elements", "(2)", "2");
        illegal(() -> manager.create(ByteBuffer.allocate(7), two, DataType.FLOAT32), "7 bytes", "4 bytes");
        illegal(() -> manager.create(FloatBuffer.allocate(2), two, DataType.INT32), "FloatBuffer", "INT32");
        illegal(() -> manager.create(ShortBuffer.allocate(2), two, DataType.FLOAT32), "ShortBuffer", "FLOAT32");
        illegal(() -> manager.create(ShortBuffer.allocate(2), two, DataType.INT32), "ShortBuffer", "INT32");
        illegal(() -> manager.create(ShortBuffer.allocate(2), two), "ShortBuffer");
        illegal(() -> manager.create(CharBuffer.allocate(2), two), "CharBuffer");
        illegal(() -> manager.create(CharBuffer.allocate(2), two, DataType.FLOAT16), "CharBuffer");
        illegal(() -> manager.create(FloatBuffer.allocate(2), new Shape(1L << 40, 1L << 40)), "2 elements");
        illegal(() -> manager.create(FloatBuffer.allocate(1), new Shape(-1)), "-1");
        illegal(() -> manager.create(FloatBuffer.allocate(1), new Shape(-1, -1)), "-1");
    }

    // ---- Shared -----------------------------------------------------------------------------------------------------

    @Test
    @Tag("cpu")
    void wrapSharesTheMemory() {
        ByteBuffer bytes = manager.allocateDirect(24);
        assertSame(NATIVE, bytes.order());
        FloatBuffer floats = bytes.asFloatBuffer();
        floats.put(0, -1).position(1).limit(5);
        NDArray x = manager.wrap(floats, new Shape(2, 2));
        assertEquals(1, floats.position());
        floats.put(1, 1).put(2, 2).put(3, 3).put(4, 4);
        check(x, DataType.FLOAT32, 1, 2, 3, 4);
        x.transpose().set(new float[] {5, 6, 7, 8});
        assertEquals(-1, bytes.getFloat(0));
        assertEquals(7, bytes.getFloat(8));
        assertEquals(0, bytes.getFloat(20));
        check(manager.wrap(bytes, new Shape(24)).slice(0, 0, 0), DataType.INT8);
        bytes.putLong(16, 9).position(16);
        assertEquals(9, manager.wrap(bytes, new Shape(1), DataType.INT64).getLong(0));
        check(manager.wrap(bytes.limit(16), new Shape(0), DataType.INT64), DataType.INT64);
    }

    @Test
    @Tag("cpu")
    void wrapRefusesWhatItCannotShare() {
        Shape one = new Shape(1);
        illegal(() -> manager.wrap(FloatBuffer.allocate(1), one), "heap", "create(data, shape)");
        illegal(() -> manager.wrap(ByteBuffer.allocate(4), one, DataType.FLOAT32), "heap");
        ByteBuffer direct = ByteBuffer.allocateDirect(8);
        illegal(() -> manager.wrap(direct.limit(4).asFloatBuffer(), one), "BIG_ENDIAN", "order(ByteOrder.native");
        illegal(() -> manager.wrap(direct, one, DataType.FLOAT32), "BIG_ENDIAN");
        check(manager.wrap(direct, new Shape(4)), DataType.INT8, 0, 0, 0, 0);
        direct.order(NATIVE);
        ByteBuffer constant = direct.asReadOnlyBuffer().order(NATIVE);
        illegal(() -> manager.wrap(constant, one, DataType.INT32), "read-only", "create");
        illegal(() -> manager.wrap(direct, new Shape(2), DataType.INT32), "1 elements", "(2)");
        illegal(() -> manager.wrap(direct.limit(5).position(1), one, DataType.INT32), "data", "aligned");
        illegal(() -> manager.wrap(direct.asFloatBuffer(), one, DataType.INT32), "FloatBuffer", "INT32");
    }

    @Test
    @Tag("cpu")
    void wrappedMemoryLivesAsLongAsItIsUsed() throws InterruptedException {
        NDArray view = viewOfWrapped(7);
        for (int round = 0; round < 10; round++) {
            disturb();
            float[] elements = view.toFloatArray();
            assertEquals(1 << 20, elements.length);
            assertEquals(7, elements[0]);
            assertEquals(7, elements[elements.length - 1]);
        }
    }

    /** The buffer and the array over it are forgotten; only the view is still referenced. */
    private NDArray viewOfWrapped(float value) {
        FloatBuffer floats = manager.allocateDirect(4 << 20).asFloatBuffer();
        for (int i = 0; i < floats.capacity(); i++) {
            floats.put(i, value);
        }
        try (NDArray array = manager.wrap(floats, new Shape(1 << 10, 1 << 10))) {
            return array.transpose();
        }
    }

    @Test
    @Tag("cpu")
    void wrappedMemoryIsReleased() throws InterruptedException {
        WeakReference<Object> memory = new WeakReference<>(closedOverABuffer());
        for (int i = 0; i < 500 && memory.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertEquals(null, memory.get());
    }

    private Object closedOverABuffer() {
        NDArray array = manager.wrap(manager.allocateDirect(8), new Shape(8));
        Object memory = array.tensor().kept();
        NDArray view = array.reshape(2, 4);
        assertSame(memory, view.tensor().kept());
        view.close();
        array.close();
        assertEquals(null, array.tensor().kept());
        return memory;
    }

    // ---- Out --------------------------------------------------------------------------------------------------------

    @Test
    void toByteBufferCopies() {
        NDArray x = manager.create(new float[] {1, 2, 3, 4}, new Shape(2, 2));
        ByteBuffer bytes = x.transpose().toByteBuffer();
        assertTrue(bytes.isDirect());
        assertSame(NATIVE, bytes.order());
        assertEquals(16, bytes.remaining());
        assertEquals(3, bytes.getFloat(4));
        bytes.putFloat(0, 9);
        assertEquals(1, x.getFloat(0, 0));
        assertEquals(0x3c00, manager.ones(new Shape(1), DataType.FLOAT16).toByteBuffer().getShort(0));
        assertEquals(0, manager.zeros(new Shape(0)).toByteBuffer().capacity());
    }

    @Test
    @Tag("cpu")
    void toFloatBufferIsAView() {
        NDArray x = manager.create(new float[] {1, 2, 3, 4}, new Shape(2, 2));
        FloatBuffer floats = x.toFloatBuffer();
        assertTrue(floats.isDirect());
        assertFalse(floats.isReadOnly());
        assertSame(NATIVE, floats.order());
        assertEquals(0, floats.position());
        assertEquals(4, floats.remaining());
        floats.put(2, 9);
        assertEquals(9, x.getFloat(1, 0));
        x.set(new float[] {5, 6, 7, 8});
        assertEquals(8, floats.get(3));
        assertEquals(7, x.get(1).toFloatBuffer().get(0));
        assertEquals(1, x.get(1, 1).toFloatBuffer().remaining());
        assertEquals(0, manager.zeros(new Shape(0, 2)).toFloatBuffer().capacity());
    }

    @Test
    @Tag("cpu")
    void toFloatBufferWantsRowMajorFloats() {
        NDArray x = manager.ones(new Shape(2, 2));
        state(() -> x.transpose().toFloatBuffer(), "duplicate()");
        state(() -> x.slice(1, 0, 1).toFloatBuffer(), "duplicate()");
        state(() -> manager.create(new int[1]).toFloatBuffer(), "FLOAT32", "INT32");
        assertEquals(4, x.transpose().duplicate().toFloatBuffer().capacity());
        assertEquals(2, x.slice(0, 1, 1).transpose().toFloatBuffer().capacity());
    }

    @Test
    @Tag("cpu")
    void toFloatBufferRefusesParametersAndShapes() {
        try (NativeLayer layer = TestLayers.linear(Library.context())) {
            NDArray weight = manager.adopt(layer.parameter(NativeText.of("weight", "name")));
            state(weight::toFloatBuffer, "parameter", "duplicate()");
            assertEquals(6, weight.duplicate().toFloatBuffer().capacity());
        }
        try (NativeTensor large = TestLayers.shapeOnly(Library.context(), DataType.FLOAT32, 1L << 30)) {
            NDArray array = new NDArray(manager, large);
            state(array::toFloatBuffer, "4294967296 bytes");
            state(array::toByteBuffer, "4294967296 bytes");
        }
    }

    /**
     * The array and its manager are closed and forgotten, the collector runs, and other arrays are created and closed.
     */
    @Test
    @Tag("cpu")
    void viewsKeepTheMemoryAlive() throws InterruptedException {
        FloatBuffer[] views = new FloatBuffer[4];
        NDManager closed = TestDevice.newManager();
        FloatBuffer whole = closed.full(new Shape(1 << 18), 3).toFloatBuffer();
        views[0] = whole;
        views[1] = closed.full(new Shape(1 << 18), 3).toFloatBuffer().asReadOnlyBuffer();
        views[2] = closed.full(new Shape(1 << 19), 3).toFloatBuffer().position(1 << 18).slice();
        views[3] = closed.full(new Shape(1 << 18), 3).toFloatBuffer().duplicate().slice().asReadOnlyBuffer();
        closed.close();
        for (int round = 0; round < 10; round++) {
            disturb();
            for (FloatBuffer view : views) {
                assertEquals(1 << 18, view.capacity());
                for (int i = 0; i < view.capacity(); i++) {
                    assertEquals(3, view.get(i));
                }
            }
        }
    }

    @Test
    @Tag("cpu")
    void aViewCanBeWrappedAgain() throws InterruptedException {
        FloatBuffer view = manager.full(new Shape(1 << 18), 3).toFloatBuffer();
        NDArray again = manager.wrap(view, new Shape(1 << 18));
        view = null;
        disturb();
        assertTrue(again.contentEquals(manager.full(new Shape(1 << 18), 3)));
    }

    /** Collects garbage, and allocates memory that has become free. */
    private void disturb() throws InterruptedException {
        System.gc();
        Thread.sleep(10);
        for (int i = 0; i < 8; i++) {
            manager.full(new Shape(1 << 18), -1).close();
            ByteBuffer.allocateDirect(1 << 20).put(0, (byte) 1);
        }
    }

    private static void check(NDArray array, DataType type, float... elements) {
        assertEquals(type, array.getDataType());
        assertArrayEquals(elements, array.toType(DataType.FLOAT32, false).toFloatArray());
    }

    private static void illegal(Executable use, String... words) {
        contains(assertThrows(IllegalArgumentException.class, use), words);
    }

    private static void state(Executable use, String... words) {
        contains(assertThrows(IllegalStateException.class, use), words);
    }

    private static void contains(Throwable error, String... words) {
        for (String word : words) {
            assertTrue(error.getMessage().contains(word), error.getMessage() + " has no " + word);
        }
    }
}
