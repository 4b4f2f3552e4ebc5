// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;

/** The sizes of an array's axes, such as (2, 4, 100). Immutable. */
public final class Shape {
    /** DJL writes a letter for the layout of each axis. This is the letter for an axis without a layout. */
    private static final char NO_LAYOUT = '?';
    /** The largest number of axes of heed's arrays, and the most that {@link #decode} accepts. */
    private static final int MAX_RANK = 8;

    private final long[] dims;

    /**
     * Makes a shape.
     *
     * @param dims the size of each axis; none: a scalar
     */
    public Shape(long... dims) {
        this.dims = Objects.requireNonNull(dims, "dims").clone();
    }

    /**
     * Returns the size of one axis.
     *
     * @param index the axis, from 0
     * @return its size
     * @throws IndexOutOfBoundsException if there is no such axis
     */
    public long get(int index) {
        if (index < 0 || index >= dims.length) {
            throw new IndexOutOfBoundsException("index is " + index + ", "
                    + (dims.length == 0 ? "but a scalar has no axes" : "expected 0 to " + (dims.length - 1))
                    + ": the shape is " + this);
        }
        return dims[index];
    }

    /**
     * Returns the size of each axis.
     *
     * @return a copy of the sizes
     */
    public long[] getShape() {
        return dims.clone();
    }

    /**
     * Returns the number of axes.
     *
     * @return the rank, 0 for a scalar
     */
    public int dimension() {
        return dims.length;
    }

    /**
     * Returns the number of elements.
     *
     * @return the product of the sizes; 1 for a scalar; -1 if a size is -1, which stands for an unknown size
     * @throws ArithmeticException if it exceeds Long.MAX_VALUE
     */
    public long size() {
        return product(dims);
    }

    /**
     * Returns the product of the sizes of some axes.
     *
     * @param axes the axes, from 0
     * @return the product of their sizes; -1 if one of them is -1
     * @throws IllegalArgumentException if there is no such axis
     * @throws ArithmeticException if it exceeds Long.MAX_VALUE
     */
    public long size(int... axes) {
        long[] sizes = new long[Objects.requireNonNull(axes, "axes").length];
        for (int i = 0; i < axes.length; i++) {
            if (axes[i] < 0 || axes[i] >= dims.length) {
                throw new IllegalArgumentException(
                        "axis is " + axes[i] + ", expected 0 to " + (dims.length - 1) + ", the axes of " + this);
            }
            sizes[i] = dims[axes[i]];
        }
        return product(sizes);
    }

    /**
     * Returns the size of the first axis.
     *
     * @return its size
     * @throws IndexOutOfBoundsException if the shape is that of a scalar
     */
    public long head() {
        checkHasAxes();
        return dims[0];
    }

    /**
     * Returns the size of the last axis.
     *
     * @return its size
     * @throws IndexOutOfBoundsException if the shape is that of a scalar
     */
    public long tail() {
        checkHasAxes();
        return dims[dims.length - 1];
    }

    /**
     * Returns this shape with more axes after the last.
     *
     * @param axes the sizes of the additional axes
     * @return a new shape
     */
    public Shape add(long... axes) {
        Objects.requireNonNull(axes, "axes");
        long[] joined = Arrays.copyOf(dims, dims.length + axes.length);
        System.arraycopy(axes, 0, joined, dims.length, axes.length);
        return new Shape(joined);
    }

    /**
     * Returns this shape followed by the axes of another one.
     *
     * @param other the other shape
     * @return a new shape
     */
    public Shape addAll(Shape other) {
        return add(Objects.requireNonNull(other, "other").dims);
    }

    /**
     * Returns the shape of the axes from an index on.
     *
     * @param beginIndex the first axis, from 0
     * @return a new shape
     * @throws IndexOutOfBoundsException if there are fewer axes
     */
    public Shape slice(int beginIndex) {
        return slice(beginIndex, dims.length);
    }

    /**
     * Returns the shape of a range of axes.
     *
     * @param beginIndex the first axis, from 0
     * @param endIndex the index after the last axis
     * @return a new shape
     * @throws IndexOutOfBoundsException if there are no such axes
     */
    public Shape slice(int beginIndex, int endIndex) {
        Objects.checkFromToIndex(beginIndex, endIndex, dims.length);
        return new Shape(Arrays.copyOfRange(dims, beginIndex, endIndex));
    }

    /**
     * Tells whether the shape is that of a scalar.
     *
     * @return true if it has no axes
     */
    public boolean isScalar() {
        return dims.length == 0;
    }

    /**
     * Returns the shape in DJL's encoding: the number of axes as an int, each size as a long, the number of axes again,
     * and a letter for the layout of each axis, here '?', all big-endian.
     *
     * @return new bytes, which {@link #decode} reads
     */
    public byte[] getEncoded() {
        ByteBuffer bytes = ByteBuffer.allocate(2 * Integer.BYTES + dims.length * (Long.BYTES + Character.BYTES));
        bytes.putInt(dims.length);
        for (long dim : dims) {
            bytes.putLong(dim);
        }
        bytes.putInt(dims.length);
        for (int i = 0; i < dims.length; i++) {
            bytes.putChar(NO_LAYOUT);
        }
        return bytes.array();
    }

    /**
     * Reads a shape that {@link #getEncoded} has written. Layouts are ignored.
     *
     * @param in the stream, which is read up to the end of the shape
     * @return a new shape
     * @throws IOException if the stream fails or ends early, or has anything but a shape of at most 8 axes
     */
    public static Shape decode(DataInputStream in) throws IOException {
        Objects.requireNonNull(in, "in");
        long[] dims = new long[decodeRank(in)];
        for (int i = 0; i < dims.length; i++) {
            dims[i] = in.readLong();
        }
        int layouts = decodeRank(in);
        for (int i = 0; i < layouts; i++) {
            in.readChar();
        }
        return new Shape(dims);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Shape && Arrays.equals(dims, ((Shape) other).dims);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(dims);
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("(");
        for (int i = 0; i < dims.length; i++) {
            text.append(i == 0 ? "" : ", ").append(dims[i]);
        }
        return text.append(')').toString();
    }

    /**
     * Converts an axis, which counts from the end if it is negative, to an index from 0. Throws if there is no such
     * axis.
     */
    static int axisFromZero(String argument, long axis, int rank) {
        if (rank == 0) {
            throw new IllegalArgumentException(argument + " is " + axis + ", but a scalar has no axes");
        }
        if (axis < -rank || axis >= rank) {
            throw new IllegalArgumentException(argument + " is " + axis + ", expected " + -rank + " to " + (rank - 1));
        }
        return (int) (axis < 0 ? axis + rank : axis);
    }

    private void checkHasAxes() {
        if (dims.length == 0) {
            throw new IndexOutOfBoundsException("the shape is a scalar's, which has no axes");
        }
    }

    private static int decodeRank(DataInputStream in) throws IOException {
        int rank = in.readInt();
        if (rank < 0 || rank > MAX_RANK) {
            throw new IOException("the shape has " + rank + " axes, expected 0 to " + MAX_RANK);
        }
        return rank;
    }

    private static long product(long[] sizes) {
        long product = 1;
        for (long size : sizes) {
            if (size == -1) {
                return -1;
            }
            product = Math.multiplyExact(product, size);
        }
        return product;
    }

    /** The sizes themselves, not a copy, for callers that do not change them. */
    long[] dims() {
        return dims;
    }
}
