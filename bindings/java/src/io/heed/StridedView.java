// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;

/**
 * Some elements of an array in some order: sizes and strides of the view's axes, and where its first element is, counted
 * from the array's. Immutable; {@link #of} makes the native view.
 */
final class StridedView {
    final long[] dims;
    private final long[] strides;
    private final long offset;

    StridedView(long[] dims, long[] strides, long offset) {
        this.dims = dims;
        this.strides = strides;
        this.offset = offset;
    }

    /** All elements of a tensor of this shape, as they are. */
    static StridedView whole(NativeTensor tensor, Shape shape) {
        return new StridedView(shape.dims(), stridesOf(tensor, shape), 0);
    }

    static long[] stridesOf(NativeTensor tensor, Shape shape) {
        long[] strides = new long[shape.dimension()];
        Arrays.setAll(strides, tensor::stride);
        return strides;
    }

    static long[] rowMajorStrides(Shape shape) {
        long[] strides = new long[shape.dimension()];
        long next = 1;
        for (int axis = strides.length - 1; axis >= 0; axis--) {
            strides[axis] = next;
            next *= shape.get(axis);
        }
        return strides;
    }

    /** The part at some indices of the first axes, each of which exists, without these axes. */
    static StridedView at(NativeTensor tensor, Shape shape, long[] indices) {
        return at(stridesOf(tensor, shape), shape, indices);
    }

    static StridedView at(long[] strides, Shape shape, long[] indices) {
        long[] dims = shape.dims();
        long offset = 0;
        for (int axis = 0; axis < indices.length; axis++) {
            offset += strides[axis] * (indices[axis] < 0 ? indices[axis] + dims[axis] : indices[axis]);
        }
        return new StridedView(
                Arrays.copyOfRange(dims, indices.length, dims.length),
                Arrays.copyOfRange(strides, indices.length, dims.length), offset);
    }

    /** The same elements in the opposite order along some axes. */
    StridedView reversed(boolean[] axes) {
        long[] turned = strides.clone();
        long first = offset;
        for (int axis = 0; axis < dims.length; axis++) {
            if (axes[axis] && dims[axis] > 1) {
                turned[axis] = -strides[axis];
                first += (dims[axis] - 1) * strides[axis];
            }
        }
        return new StridedView(dims, turned, first);
    }

    /** The axes along which the elements stand in memory from the last to the first. */
    boolean[] backwards() {
        boolean[] axes = new boolean[dims.length];
        for (int axis = 0; axis < axes.length; axis++) {
            axes[axis] = dims[axis] > 1 && strides[axis] < 0;
        }
        return axes;
    }

    NativeTensor of(NativeTensor tensor) {
        return tensor.view(dims, strides, offset);
    }
}
