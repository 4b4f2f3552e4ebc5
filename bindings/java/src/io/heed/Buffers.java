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

/** Elements in Java's buffers, from position to limit, in the buffer's byte order. */
final class Buffers {
    /** The bytes of one piece that is copied by way of a direct buffer. */
    private static final int PIECE_BYTES = 1 << 20;

    private Buffers() {}

    /** The type of a buffer's elements, where it says one. */
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
     * The elements of data, for calls that rely on what is checked here: nobody else moves this buffer's position or
     * limit. Throws unless they are of this type, exactly as many as the shape's, and there to be read.
     */
    static Buffer checked(Buffer data, DataType type, Shape shape) {
        Buffer own = data instanceof ByteBuffer
                ? ((ByteBuffer) data).duplicate().order(((ByteBuffer) data).order())
                : data.duplicate();
        check(own, type, shape);
        if (own.hasRemaining()) {
            // Java throws if the buffer's memory was an arena's that is closed, or confined to another thread.
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

    /** Throws unless as many elements, of which `where` says more, fill the shape. */
    static void checkCount(long count, String where, Shape shape) {
        if (count != sizeOf(shape)) {
            throw new IllegalArgumentException(
                    "data has " + count + " elements" + where + ", the shape " + shape + " has " + sizeOf(shape));
        }
    }

    /** Throws unless an array can lie over data, which is {@link #checked}. */
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

    /** Copies data, which is {@link #checked}, into a row-major tensor. */
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

    /** A direct buffer in native order. */
    static ByteBuffer direct(int numBytes) {
        return ByteBuffer.allocateDirect(numBytes).order(ByteOrder.nativeOrder());
    }

    /** The elements of a shape; Long.MAX_VALUE, which no buffer has, where that is above it. */
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

    /** The bytes as elements of that size, whose values are the buffer's byte order's. */
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

    /** Puts the elements at the start of a buffer, in its byte order. */
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

    /** The name of the public class. */
    private static String kind(Buffer data) {
        Class<?> type = data.getClass();
        while (type.getSuperclass() != Buffer.class) {
            type = type.getSuperclass();
        }
        return type.getSimpleName();
    }
}
