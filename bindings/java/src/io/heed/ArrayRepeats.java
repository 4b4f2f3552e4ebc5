// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;

/** Repeats an array along its axes: as a whole, or each part by itself. */
final class ArrayRepeats {
    private ArrayRepeats() {}

    /**
     * The order of the copies along an axis that is repeated: copies of the whole axis follow each other, (a, b, a, b), or
     * the copies of each element stand together, (a, a, b, b).
     */
    enum Order {
        TILES,
        PARTS
    }

    static NDArray along(ArrayData array, Order order, int axis, long repeats) {
        long[] times = ones(array.shape.dimension());
        times[Shape.axisFromZero("axis", axis, times.length)] = repeats;
        return along(array, order, times);
    }

    /** The array, repeated along each of its axes; a scalar as if it had one axis. */
    static NDArray along(ArrayData array, Order order, long repeats) {
        long[] times = ones(Math.max(array.shape.dimension(), 1));
        Arrays.fill(times, repeats);
        return along(array, order, times);
    }

    /** The array, repeated until it has a shape; first axes that the shape lacks stay as they are. */
    static NDArray toShape(ArrayData array, Order order, Shape desired) {
        Shape shape = array.shape;
        int missing = shape.dimension() - desired.dimension();
        Shape wanted = missing > 0 ? shape.slice(0, missing).addAll(desired) : desired;
        long[] times = ones(wanted.dimension());
        for (int axis = 0; axis < times.length; axis++) {
            int own = axis - Math.max(-missing, 0);
            long size = own < 0 ? 1 : shape.get(own);
            boolean fits = size == 0 ? wanted.get(axis) == 0 : wanted.get(axis) % size == 0;
            if (!fits || missing < 0 && order == Order.PARTS) {
                throw new IllegalArgumentException("desiredShape is " + desired + ", expected multiples of the sizes of "
                        + "the array's shape " + shape + (order == Order.PARTS ? " and no more axes" : ""));
            }
            times[axis] = size == 0 ? 1 : wanted.get(axis) / size;
        }
        return along(array, order, times);
    }

    /**
     * The array, repeated along its last axes, with a number for each of them. As in NumPy, axes of size 1 are added before
     * those of the array.
     */
    static NDArray along(ArrayData array, Order order, long[] repeats) {
        array.checkOpen();
        Tape tape = Tape.following(array);
        Shape shape = array.shape;
        while (shape.dimension() < repeats.length) {
            shape = new Shape(1).addAll(shape);
        }
        int first = shape.dimension() - repeats.length;
        NativeTensor made = array.reshaped(shape.dims());
        for (int i = 0; i < repeats.length; i++) {
            try (NativeTensor before = made) {
                made = spread(array.withTensor(before), order, first + i, repeats[i]);
            }
        }
        try (NativeTensor all = made) {
            boolean isCopy = Arrays.stream(repeats).anyMatch(times -> times != 1);
            NDArray copy = array.adopt(
                    isCopy ? all.reshape(ArrayData.dimsOf(all)) : array.withTensor(all).converted(array.dataType));
            return tape == null ? copy : ViewGradients.repeat(tape, order, array, shape, first, repeats, copy);
        }
    }

    private static NativeTensor spread(ArrayData array, Order order, int axis, long repeats) {
        Shape shape = array.shape;
        if (repeats < 0 || shape.get(axis) > 0 && repeats > Long.MAX_VALUE / shape.get(axis)) {
            throw new IllegalArgumentException("repeats is " + repeats
                    + (repeats < 0 ? "" : ", with which axis " + axis + " of the shape " + shape + " overflows")
                    + ", expected " + (repeats < 0 ? "0 or more" : "less"));
        }
        long[] dims = shape.dims().clone();
        dims[axis] *= repeats;
        int at = order == Order.TILES ? axis : axis + 1;
        long before = shape.slice(0, at).size();
        long after = shape.slice(at).size();
        if (repeats == 1) {
            return array.tensor().reshape(dims);
        }
        try (NativeTensor once = array.reshaped(before, 1, after);
                NativeTensor copies = array.create(array.dataType, before, repeats, after)) {
            copies.copy(once);
            return copies.reshape(dims);
        }
    }

    private static long[] ones(int count) {
        long[] ones = new long[count];
        Arrays.fill(ones, 1);
        return ones;
    }
}
