// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.Objects;

/** The sizes of an array's axes, as (2, 4, 100). Immutable. */
public final class Shape {
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
     * @return the product of the sizes, 1 for a scalar
     * @throws ArithmeticException if it is above Long.MAX_VALUE
     */
    public long size() {
        long size = 1;
        for (long dim : dims) {
            size = Math.multiplyExact(size, dim);
        }
        return size;
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

    /** The dims themselves, for callers that do not change them. */
    long[] dims() {
        return dims;
    }
}
