// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.Objects;

/** Makes arrays with the elements of another array: in another shape or order, or only some of them. */
final class ArrayViews {
    private ArrayViews() {}

    static NDArray part(ArrayData array, long[] indices) {
        array.checkOpen();
        Shape shape = array.shape;
        if (indices.length > shape.dimension()) {
            throw wrongCount(indices, shape, "at most ");
        }
        checkIndices(indices, shape);
        NativeTensor tensor = array.tensor();
        NDArray view = array.adoptView(StridedView.at(tensor, shape, indices).of(tensor));
        Tape tape = Tape.following(array);
        if (tape == null) {
            return view;
        }
        return ViewGradients.part(
                tape, array, StridedView.at(StridedView.rowMajorStrides(shape), shape, indices), view);
    }

    /** The tensor of one element, which no manager owns. */
    static NativeTensor element(ArrayData array, long[] indices) {
        if (indices.length != array.shape.dimension()) {
            throw wrongCount(indices, array.shape, "");
        }
        checkIndices(indices, array.shape);
        NativeTensor tensor = array.tensor();
        return StridedView.at(tensor, array.shape, indices).of(tensor);
    }

    static NDArray part(ArrayData array, String indices, Object[] args) {
        Objects.requireNonNull(indices, "indices");
        Objects.requireNonNull(args, "args");
        array.checkOpen();
        return part(array, new NDIndex(indices, args));
    }

    static NDArray part(ArrayData array, NDIndex index) {
        array.checkOpen();
        NativeTensor tensor = array.tensor();
        IndexedAxes axes = IndexedAxes.of(tensor, array.shape, index);
        Tape tape = Tape.following(array);
        if (tape == null) {
            return axes.choice() == null ? array.adoptView(axes.view().of(tensor)) : new ChosenParts(array, axes).get();
        }
        StridedView rowMajor =
                IndexedAxes.of(StridedView.rowMajorStrides(array.shape), array.shape, index).view();
        NDArray view = ViewGradients.part(tape, array, rowMajor, array.adoptView(axes.view().of(tensor)));
        if (axes.choice() == null) {
            return view;
        }
        try (NDArray all = view) {
            return new ChosenParts(array, axes).of(all);
        }
    }

    /** A view of a part of one axis. */
    static NDArray sliced(ArrayData array, int axis, long start, long length) {
        NDArray view = array.adoptView(array.tensor().slice(axis, start, length));
        Tape tape = Tape.following(array);
        return tape == null ? view : ViewGradients.slice(tape, array, axis, start, length, view);
    }

    /** A copy in row-major order, of any type. */
    static NDArray converted(ArrayData array, DataType type) {
        Tape tape = Tape.following(array);
        if (tape != null && type != DataType.FLOAT32 && type != DataType.FLOAT64) {
            throw Tape.noGradient("toType");
        }
        NDArray copy = array.adopt(array.converted(type));
        String operation = type == array.dataType ? "duplicate" : "toType";
        return tape == null ? copy : ViewGradients.copy(tape, operation, array, copy);
    }

    /** A copy that is repeated along new axes and those of size 1. */
    static NDArray broadcast(ArrayData array, Shape shape) {
        Tape tape = Tape.following(array);
        NDArray copy = array.computed(shape.dims(), result -> result.copy(array.tensor()));
        return tape == null ? copy : ViewGradients.copy(tape, "broadcast", array, copy);
    }

    static NDArray part(ArrayData array, NDArray index) {
        return part(array, indexOf(array, index));
    }

    /** The index of an array of indices or a mask. */
    static NDIndex indexOf(ArrayData array, NDArray index) {
        Objects.requireNonNull(index, "index");
        array.checkOpen();
        NDArray.tensorOf(index, "index");
        return new NDIndex().addArray("index", index);
    }

    /** The elements where a mask of the axes from one on is true. */
    static NDArray masked(ArrayData array, NDArray mask, int axis) {
        array.checkOpen();
        NDArray.tensorOf(mask, "mask");
        int first = Shape.axisFromZero("axis", axis, array.shape.dimension());
        return part(array, new NDIndex().addAllDim(first).addMask("mask", mask));
    }

    /** A view in the opposite order along some axes, all of them if none is given. */
    static NDArray flipped(ArrayData array, int[] axes) {
        array.checkOpen();
        boolean[] turned = new boolean[array.shape.dimension()];
        Arrays.fill(turned, axes.length == 0);
        for (int axis : axes) {
            int index = Shape.axisFromZero("axes", axis, turned.length);
            if (turned[index]) {
                throw new IllegalArgumentException(
                        "axes is " + Arrays.toString(axes) + ", expected each axis of the shape " + array.shape + " at most once");
            }
            turned[index] = true;
        }
        NativeTensor tensor = array.tensor();
        NDArray view = array.adoptView(StridedView.whole(tensor, array.shape).reversed(turned).of(tensor));
        Tape tape = Tape.following(array);
        return tape == null ? view : ViewGradients.flip(tape, array, axes, view);
    }

    static NDArray reshaped(ArrayData array, long[] dims) {
        NDArray made = array.reshapedArray(dims);
        Tape tape = Tape.following(array);
        return tape == null ? made : ViewGradients.reshape(tape, "reshape", array, made);
    }

    /** With the axes in the opposite order. */
    static NDArray transposed(ArrayData array) {
        int last = array.shape.dimension() - 1;
        int[] axes = new int[last + 1];
        Arrays.setAll(axes, axis -> last - axis);
        return transposed(array, axes);
    }

    static NDArray transposed(ArrayData array, int[] axes) {
        if (axes.length != array.shape.dimension()) {
            throw new IllegalArgumentException(
                    "axes is " + Arrays.toString(axes) + ", expected each axis of the shape " + array.shape + " once");
        }
        NDArray view = array.adoptView(array.tensor().transpose(axes));
        Tape tape = Tape.following(array);
        return tape == null ? view : ViewGradients.transpose(tape, array, axes, view);
    }

    static NDArray swapped(ArrayData array, int axis1, int axis2) {
        int rank = array.shape.dimension();
        int first = Shape.axisFromZero("axis1", axis1, rank);
        int second = Shape.axisFromZero("axis2", axis2, rank);
        int[] axes = new int[rank];
        Arrays.setAll(axes, axis -> axis == first ? second : axis == second ? first : axis);
        return transposed(array, axes);
    }

    static NDArray expanded(ArrayData array, int axis) {
        Shape shape = array.shape;
        int added = Shape.axisFromZero("axis", axis, shape.dimension() + 1);
        return reshaped(array, shape.slice(0, added).add(1).addAll(shape.slice(added)).dims());
    }

    static NDArray squeezed(ArrayData array, int[] axes) {
        Shape shape = array.shape;
        boolean[] taken = new boolean[shape.dimension()];
        for (int axis : axes) {
            int index = Shape.axisFromZero("axis", axis, taken.length);
            if (shape.get(index) != 1) {
                throw new IllegalArgumentException("axis " + axis + " of the shape " + shape + " has the size "
                        + shape.get(index) + ", expected 1");
            }
            taken[index] = true;
        }
        Shape left = new Shape();
        for (int axis = 0; axis < taken.length; axis++) {
            left = taken[axis] ? left : left.add(shape.get(axis));
        }
        return reshaped(array, left.dims());
    }

    private static void checkIndices(long[] indices, Shape shape) {
        for (int axis = 0; axis < indices.length; axis++) {
            long size = shape.get(axis);
            if (indices[axis] < -size || indices[axis] >= size) {
                String expected =
                        size == 0 ? "but that axis has no elements" : "expected " + -size + " to " + (size - 1);
                throw new IllegalArgumentException("indices[" + axis + "] is " + indices[axis] + ", " + expected
                        + ": the array has the shape " + shape);
            }
        }
    }

    private static IllegalArgumentException wrongCount(long[] indices, Shape shape, String bound) {
        return new IllegalArgumentException(indices.length + " indices were given, expected " + bound
                + shape.dimension() + ": the array has the shape " + shape);
    }
}
