// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.function.Function;

/** Copies the elements of an array to and from Java arrays and buffers. */
final class ArrayElements {
    private static final String FLOATS = "FLOAT32, FLOAT16 or BFLOAT16";

    private ArrayElements() {}

    // ---- Out --------------------------------------------------------------------------------------------------------

    static float[] floats(ArrayData array) {
        requireFloats(array, "toFloatArray");
        float[] elements = new float[array.javaSize()];
        array.read(DataType.FLOAT32, source -> source.read(elements));
        return elements;
    }

    static double[] doubles(ArrayData array) {
        require(array, "toDoubleArray", DataType.FLOAT64);
        return widened(array);
    }

    /** The elements of an array of any type, converted to double. */
    static double[] widened(ArrayData array) {
        double[] elements = new double[array.javaSize()];
        array.read(DataType.FLOAT64, source -> source.read(elements));
        return elements;
    }

    static int[] ints(ArrayData array) {
        require(array, "toIntArray", DataType.INT32);
        int[] elements = new int[array.javaSize()];
        array.read(DataType.INT32, source -> source.read(elements));
        return elements;
    }

    static long[] longs(ArrayData array) {
        require(array, "toLongArray", DataType.INT64);
        long[] elements = new long[array.javaSize()];
        array.read(DataType.INT64, source -> source.read(elements));
        return elements;
    }

    static byte[] bytes(ArrayData array) {
        array.checkOpen();
        if (array.dataType != DataType.INT8 && array.dataType != DataType.UINT8) {
            throw wrongType(array, "toByteArray", "INT8 or UINT8");
        }
        byte[] elements = new byte[array.javaSize()];
        array.read(array.dataType, source -> source.read(elements));
        return elements;
    }

    static boolean[] booleans(ArrayData array) {
        require(array, "toBooleanArray", DataType.BOOLEAN);
        byte[] bytes = new byte[array.javaSize()];
        array.read(DataType.BOOLEAN, source -> source.read(bytes));
        boolean[] elements = new boolean[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            elements[i] = bytes[i] != 0;
        }
        return elements;
    }

    static ByteBuffer copiedBytes(ArrayData array) {
        NativeTensor source = array.tensor();
        ByteBuffer bytes = Buffers.direct(ArrayMemory.bufferSize(source));
        source.read(bytes, bytes.capacity());
        return bytes;
    }

    // ---- One of them ------------------------------------------------------------------------------------------------

    static float floatAt(ArrayData array, long[] indices) {
        Objects.requireNonNull(indices, "indices");
        requireFloats(array, "getFloat");
        return at(array, indices, one -> floats(one)[0]);
    }

    /** One element of an array that must be of this type. */
    static <T> T at(ArrayData array, String method, DataType type, long[] indices, Function<ArrayData, T> reader) {
        Objects.requireNonNull(indices, "indices");
        require(array, method, type);
        return at(array, indices, reader);
    }

    private static <T> T at(ArrayData array, long[] indices, Function<ArrayData, T> reader) {
        try (NativeTensor element = ArrayViews.element(array, indices)) {
            return reader.apply(array.withElement(element));
        }
    }

    // ---- In ---------------------------------------------------------------------------------------------------------

    static void set(ArrayData array, float[] data) {
        requireFloats(array, "set(float[])");
        Buffers.checkCount(data.length, "", array.shape);
        boolean inPlace = array.isOnCpu() && array.dataType == DataType.FLOAT32;
        array.write(inPlace, DataType.FLOAT32, target -> target.write(data));
    }

    static void set(ArrayData array, int[] data) {
        require(array, "set(int[])", DataType.INT32);
        Buffers.checkCount(data.length, "", array.shape);
        array.write(array.isOnCpu(), DataType.INT32, target -> target.write(data));
    }

    static void set(ArrayData array, long[] data) {
        require(array, "set(long[])", DataType.INT64);
        Buffers.checkCount(data.length, "", array.shape);
        array.write(array.isOnCpu(), DataType.INT64, target -> target.write(data));
    }

    static void set(ArrayData array, Buffer data) {
        array.checkOpen();
        Buffer elements = Buffers.checked(data, array.dataType, array.shape);
        array.write(array.isRowMajor(), array.dataType, target -> Buffers.write(target, elements, array.dataType));
    }

    // ---- Which types ------------------------------------------------------------------------------------------------

    static void require(ArrayData array, String method, DataType type) {
        array.checkOpen();
        if (array.dataType != type) {
            throw wrongType(array, method, type.name());
        }
    }

    static void requireFloats(ArrayData array, String method) {
        array.checkOpen();
        if (array.dataType != DataType.FLOAT32
                && array.dataType != DataType.FLOAT16
                && array.dataType != DataType.BFLOAT16) {
            throw wrongType(array, method, FLOATS);
        }
    }

    private static IllegalStateException wrongType(ArrayData array, String method, String wanted) {
        return new IllegalStateException(
                method + " needs an array of " + wanted + ", this one is of " + array.dataType.name());
    }
}
