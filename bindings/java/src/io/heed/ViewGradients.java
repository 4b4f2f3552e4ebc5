// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Gradients of operations that only move, repeat or leave out elements. */
final class ViewGradients {
    private ViewGradients() {}

    /** Records an array of the same elements in the same order. */
    static NDArray reshape(Tape tape, String operation, ArrayData array, NDArray y) {
        Shape shape = array.shape;
        return tape.record(operation, y, array, node -> (g, input) -> g.reshape(shape));
    }

    /** Records a copy, of another type or repeated along axes of size 1, which {@link ArrayNode} undoes. */
    static NDArray copy(Tape tape, String operation, ArrayData array, NDArray y) {
        return tape.record(operation, y, array, node -> (g, input) -> g);
    }

    static NDArray transpose(Tape tape, ArrayData array, int[] axes, NDArray y) {
        int[] back = new int[axes.length];
        for (int axis = 0; axis < axes.length; axis++) {
            back[axes[axis] < 0 ? axes[axis] + axes.length : axes[axis]] = axis;
        }
        return tape.record("transpose", y, array, node -> (g, input) -> g.transpose(back));
    }

    static NDArray flip(Tape tape, ArrayData array, int[] axes, NDArray y) {
        int[] flipped = axes.clone();
        return tape.record("flip", y, array, node -> (g, input) -> g.flip(flipped));
    }

    static NDArray slice(Tape tape, ArrayData array, int axis, long start, long length, NDArray y) {
        Shape shape = array.shape;
        return tape.record("slice", y, array, node -> (g, input) -> {
            NDArray whole = g.getManager().create(shape, g.getDataType());
            try (NativeTensor part = whole.tensor().slice(axis, start, length)) {
                part.copy(g.tensor());
            }
            return whole;
        });
    }

    /**
     * Records a view of some elements.
     *
     * @param rowMajor the view of the same part of an array of that shape in row-major order
     */
    static NDArray part(Tape tape, ArrayData array, StridedView rowMajor, NDArray y) {
        Shape shape = array.shape;
        return tape.record("get", y, array, node -> (g, input) -> {
            NDArray whole = g.getManager().create(shape, g.getDataType());
            ArrayWrites.write(whole.data(), rowMajor, g.data());
            return whole;
        });
    }

    /**
     * Records an array that is repeated along its axes.
     *
     * @param whole the array's shape with as many axes as repeats has numbers, or more
     * @param first the first axis that is repeated
     */
    static NDArray repeat(
            Tape tape, ArrayRepeats.Order order, ArrayData array, Shape whole, int first, long[] repeats, NDArray y) {
        long[] times = repeats.clone();
        Shape shape = array.shape;
        boolean areTiles = order == ArrayRepeats.Order.TILES;
        return tape.record(areTiles ? "tile" : "repeat", y, array, node -> (g, input) -> {
            NDArray sum = g;
            for (int i = times.length - 1; i >= 0; i--) {
                Shape now = sum.getShape();
                int axis = first + i;
                long size = whole.get(axis);
                Shape copies = areTiles ? new Shape(times[i], size) : new Shape(size, times[i]);
                if (times[i] != 1) {
                    long before = now.slice(0, axis).size();
                    long after = now.slice(axis + 1).size();
                    sum = sum.reshape(new Shape(before).addAll(copies).add(after))
                            .sum(new int[] {areTiles ? 1 : 2})
                            .reshape(ResultRules.replaced(now, axis, new Shape(size)));
                }
            }
            return sum.reshape(shape);
        });
    }

    /** Records arrays that are joined along an axis, which they have, or which is new. */
    static NDArray join(Tape tape, String operation, NDList arrays, int axis, NDArray y) {
        ArrayData[] inputs = arrays.stream().map(NDArray::data).toArray(ArrayData[]::new);
        boolean isNew = y.data().shape.dimension() != inputs[0].shape.dimension();
        long[] starts = new long[inputs.length + 1];
        Shape[] shapes = new Shape[inputs.length];
        for (int i = 0; i < inputs.length; i++) {
            shapes[i] = inputs[i].shape;
            starts[i + 1] = starts[i] + (isNew ? 1 : shapes[i].get(axis));
        }
        return tape.record(operation, y, inputs, node -> (g, input) ->
                g.slice(axis, starts[input], starts[input + 1] - starts[input]).reshape(shapes[input]));
    }
}
