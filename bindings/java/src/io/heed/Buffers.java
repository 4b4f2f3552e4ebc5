// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;

/** Reads the elements of Java buffers, from position to limit, in the buffer's byte order. */
final class Buffers {
    /** The number of bytes that are copied at a time through a direct buffer. */
    private static final int PIECE_BYTES = 1 << 20;

    private Buffers() {}

    /** The element type of a buffer. Throws if the class of the buffer does not tell it. */
    static DataType typeOf(Buffer data) {
        if (data instanceof FloatBuffer) {
            return DataType.FLOAT32;
        } else if (data instanceof DoubleBuffer) {
            return DataType.FLOAT64;
        } else if (data instanceof IntBuffer) {
            return DataType.INT32;
        } else if (data instanceof LongBuffer) {
            return DataType.INT64;
        } else if (data instanceof ByteBuffer) {
            return DataType.INT8;
        }
        throw new IllegalArgumentException(
                "data is a " + kind(data) + ", which does not tell the type of its elements: name it as well");
    }

    /**
     * Returns a duplicate of `data`. No other thread can change its position and limit, so later calls may rely on
     * these checks. Throws unless its elements can be of this type, are exactly as many as the shape has, and can be
     * read.
     */
    static Buffer checked(Buffer data, DataType type, Shape shape) {
        Buffer own = data instanceof ByteBuffer
                ? ((ByteBuffer) data).duplicate().order(((ByteBuffer) data).order())
                : data.duplicate();
        check(own, type, shape);
        if (own.hasRemaining()) {
            // Reads one byte: Java throws if the buffer's arena is closed, or belongs to another thread.
            put(ByteBuffer.allocate(Long.BYTES), own.duplicate().limit(own.position() + 1));
        }
        return own;
    }

    private static void check(Buffer data, DataType type, Shape shape) {
        if (!(data instanceof ByteBuffer)
                && !(data instanceof ShortBuffer && type.isFloating() && type.getNumOfBytes() == Short.BYTES)
                && (data instanceof ShortBuffer || typeOf(data) != type)) {
            throw new IllegalArgumentException(
                    "data is a " + kind(data) + ", which cannot hold elements of " + type.name());
        }
        long found = data.remaining();
        if (data instanceof ByteBuffer) {
            if (found % type.getNumOfBytes() != 0) {
                throw new IllegalArgumentException("data has " + found + " bytes between position and limit, which is "
                        + "no multiple of the " + type.getNumOfBytes() + " bytes of an element of " + type.name());
            }
            found /= type.getNumOfBytes();
        }
        checkCount(found, " between position and limit", shape);
    }

    /** Throws unless the shape has `count` elements. `where` goes into the message. */
    static void checkCount(long count, String where, Shape shape) {
        if (count != sizeOf(shape)) {
            throw new IllegalArgumentException(
                    "data has " + count + " elements" + where + ", the shape " + shape + " has " + sizeOf(shape));
        }
    }

    /** Throws unless an array can use the memory of `data`, which comes from {@link #checked}. */
    static void checkShareable(Buffer data, DataType type) {
        if (!data.isDirect()) {
            throw new IllegalArgumentException("data is a heap buffer, which the garbage collector moves, expected a "
                    + "direct one (allocateDirect makes them); create(data, shape) copies any buffer");
        }
        if (data.isReadOnly()) {
            throw new IllegalArgumentException(
                    "data is a read-only buffer, and arrays can be written; create(data, shape) copies any buffer");
        }
        if (type.getNumOfBytes() > 1 && order(data) != ByteOrder.nativeOrder()) {
            throw new IllegalArgumentException("data is in " + order(data) + " byte order, expected "
                    + ByteOrder.nativeOrder() + ": call order(ByteOrder.nativeOrder()) on the ByteBuffer before it is "
                    + "filled; create(data, shape) copies any buffer");
        }
    }

    /** Copies `data`, which comes from {@link #checked}, into a row-major tensor. */
    static void write(NativeTensor tensor, Buffer data, DataType type) {
        int size = type.getNumOfBytes();
        if (data.isDirect() && (size == 1 || order(data) == ByteOrder.nativeOrder())) {
            tensor.write(data.slice(), tensor.numBytes());
            return;
        }
        Buffer elements = data instanceof ByteBuffer ? view((ByteBuffer) data, size) : data;
        int count = elements.remaining();
        int piece = Math.min(count, PIECE_BYTES / size);
        ByteBuffer staging = direct(piece * size);
        try (NativeTensor flat = tensor.reshape(new long[] {count})) {
            for (int start = 0; start < count; start += piece) {
                int length = Math.min(piece, count - start);
                int position = elements.position() + start;
                put(staging, elements.duplicate().limit(position + length).position(position));
                try (NativeTensor part = flat.slice(0, start, length)) {
                    part.write(staging, (long) length * size);
                }
            }
        }
    }

    /** Makes a direct buffer in native byte order. */
    static ByteBuffer direct(int numBytes) {
        return ByteBuffer.allocateDirect(numBytes).order(ByteOrder.nativeOrder());
    }

    /** The number of elements of a shape. If it overflows: Long.MAX_VALUE, which no buffer has. */
    private static long sizeOf(Shape shape) {
        try {
            return shape.size();
        } catch (ArithmeticException error) {
            return Long.MAX_VALUE;
        }
    }

    private static ByteOrder order(Buffer data) {
        if (data instanceof ByteBuffer) {
            return ((ByteBuffer) data).order();
        } else if (data instanceof FloatBuffer) {
            return ((FloatBuffer) data).order();
        } else if (data instanceof DoubleBuffer) {
            return ((DoubleBuffer) data).order();
        } else if (data instanceof IntBuffer) {
            return ((IntBuffer) data).order();
        } else if (data instanceof LongBuffer) {
            return ((LongBuffer) data).order();
        }
        return ((ShortBuffer) data).order();
    }

    /** A view of the bytes as elements of that size, in the buffer's byte order. */
    private static Buffer view(ByteBuffer data, int size) {
        ByteBuffer bytes = data.slice().order(data.order());
        switch (size) {
            case Short.BYTES:
                return bytes.asShortBuffer();
            case Integer.BYTES:
                return bytes.asIntBuffer();
            case Long.BYTES:
                return bytes.asLongBuffer();
            default:
                return bytes;
        }
    }

    /** Writes the elements to the start of a buffer, in its byte order. */
    private static void put(ByteBuffer target, Buffer elements) {
        if (elements instanceof ByteBuffer) {
            target.duplicate().put((ByteBuffer) elements);
        } else if (elements instanceof ShortBuffer) {
            target.asShortBuffer().put((ShortBuffer) elements);
        } else if (elements instanceof IntBuffer) {
            target.asIntBuffer().put((IntBuffer) elements);
        } else if (elements instanceof LongBuffer) {
            target.asLongBuffer().put((LongBuffer) elements);
        } else if (elements instanceof FloatBuffer) {
            target.asFloatBuffer().put((FloatBuffer) elements);
        } else {
            target.asDoubleBuffer().put((DoubleBuffer) elements);
        }
    }

    /** The name of the buffer's public class, such as FloatBuffer. */
    private static String kind(Buffer data) {
        Class<?> type = data.getClass();
        while (type.getSuperclass() != Buffer.class) {
            type = type.getSuperclass();
        }
        return type.getSimpleName();
    }
}
