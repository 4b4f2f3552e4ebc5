// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Gradients of elements that indices choose: those of an element that is chosen several times are added up. */
final class IndexGradients {
    private IndexGradients() {}

    /** Records the parts at indices along an axis. */
    static NDArray take(Tape tape, ArrayData array, ArrayData indices, int axis, NDArray y) {
        Shape shape = array.shape;
        int along = Shape.axisFromZero("axis", axis, shape.dimension());
        long before = shape.slice(0, along).size();
        long after = shape.slice(along + 1).size();
        long count = indices.shape.size();
        return tape.record("take", y, array, node -> {
            NDArray chosen = node.hold("indices", indices);
            return (g, input) -> {
                // Index by index: a product with ones and zeros would have an element for each pair, and NaN of 0 times infinity.
                NDArray sum = g.getManager().zeros(shape, g.getDataType());
                NDArray parts = g.reshape(before, count, after);
                NDArray sums = sum.reshape(before, shape.get(along), after);
                long[] places = chosen.toType(DataType.INT64, false).toLongArray();
                for (int i = 0; i < places.length; i++) {
                    long place = places[i] < 0 ? places[i] + shape.get(along) : places[i];
                    try (NDArray part = sums.slice(1, place, 1);
                            NDArray addend = parts.slice(1, i, 1)) {
                        part.add(addend, part);
                    }
                }
                return sum;
            };
        });
    }

    /** Records one element for each index along an axis. */
    static NDArray gather(Tape tape, ArrayData array, ArrayData indices, int axis, NDArray y) {
        Shape shape = array.shape;
        int along = Shape.axisFromZero("axis", axis, shape.dimension());
        return tape.record("gather", y, array, node -> {
            NDArray chosen = node.hold("indices", indices);
            return (g, input) -> {
                // (..., the axis, its indices, ...)
                NDArray places = fromZero(chosen, shape.get(along)).expandDims(along);
                Shape ofPositions = new Shape(shape.get(along)).addAll(ones(shape.dimension() - along));
                NDArray isPlace = places.eq(positions(g, shape.get(along)).reshape(ofPositions));
                return g.expandDims(along).where(isPlace, 0).sum(new int[] {along + 1});
            };
        });
    }

    /**
     * Records one element of each row along an axis.
     *
     * @param column the shape of the indices with an axis of size 1 in the place of that axis
     */
    static NDArray pick(Tape tape, ArrayData array, ArrayData indices, Shape column, int axis, NDArray y) {
        Shape shape = array.shape;
        Shape place = ResultRules.replaced(shape, axis, new Shape(1));
        return tape.record("pick", y, array, node -> {
            NDArray chosen = node.hold("indices", indices);
            return (g, input) -> {
                NDArray places = fromZero(chosen.reshape(column), shape.get(axis));
                Shape ofPositions = new Shape(shape.get(axis)).addAll(ones(shape.dimension() - axis - 1));
                NDArray isPlace = places.eq(positions(g, shape.get(axis)).reshape(ofPositions));
                return g.reshape(place).where(isPlace, 0);
            };
        });
    }

    /** Indices that count from the beginning. */
    private static NDArray fromZero(NDArray indices, long size) {
        return indices.where(indices.gte(0), indices.add(size));
    }

    /** 0 to size - 1, exact in FLOAT64. */
    private static NDArray positions(NDArray like, long size) {
        return like.getManager().arange(0, Math.toIntExact(size), 1, DataType.FLOAT64);
    }

    private static Shape ones(int count) {
        Shape ones = new Shape();
        for (int i = 0; i < count; i++) {
            ones = ones.add(1);
        }
        return ones;
    }
}
