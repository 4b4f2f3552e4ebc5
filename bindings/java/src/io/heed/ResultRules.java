// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * The types and shapes of results, by the rules of section 6.9 of heed.h. Of inputs that do not go together they say any
 * type, and a shape that takes little memory, because C refuses the call.
 */
final class ResultRules {
    private ResultRules() {}

    /** The common type of two inputs. */
    static DataType common(DataType a, DataType b) {
        return rankOf(a) >= rankOf(b) ? a : b;
    }

    static DataType of(ElementFunction function, DataType common) {
        if (function.givesTruth()) {
            return DataType.BOOLEAN;
        }
        return function.isReal() && !common.isFloating() ? DataType.FLOAT32 : common;
    }

    static DataType of(Reduction reduction, DataType type) {
        switch (reduction) {
            case ARG_MAX:
            case ARG_MIN:
                return DataType.INT64;
            case MEAN:
            case NORM:
                return type.isFloating() ? type : DataType.FLOAT32;
            case SUM:
            case PROD:
                return type.isFloating() ? type : DataType.INT64;
            default:
                return type;
        }
    }

    /** The shape to which two inputs are broadcast. */
    static Shape broadcast(Shape a, Shape b) {
        if (a.equals(b)) {
            return a;
        }
        Shape longer = a.dimension() >= b.dimension() ? a : b;
        Shape shorter = a.dimension() >= b.dimension() ? b : a;
        int missing = longer.dimension() - shorter.dimension();
        long[] dims = longer.getShape();
        for (int axis = missing; axis < dims.length; axis++) {
            long size = shorter.get(axis - missing);
            if (dims[axis] != size && dims[axis] != 1 && size != 1) {
                return new Shape();
            }
            dims[axis] = dims[axis] == 1 ? size : dims[axis];
        }
        return new Shape(dims);
    }

    /**
     * The shape without the axes that are reduced, or with 1 in their places.
     *
     * @param axes null: all axes
     */
    static Shape reduced(Shape shape, int[] axes, boolean keepDims) {
        int rank = shape.dimension();
        boolean[] isReduced = new boolean[rank];
        int count = axes == null ? rank : axes.length;
        for (int i = 0; i < count; i++) {
            int axis = axes == null ? i : axes[i] < 0 ? axes[i] + rank : axes[i];
            if (axis < 0 || axis >= rank || isReduced[axis]) {
                return new Shape();
            }
            isReduced[axis] = true;
        }
        long[] dims = new long[keepDims ? rank : rank - count];
        int next = 0;
        for (int axis = 0; axis < rank; axis++) {
            if (keepDims || !isReduced[axis]) {
                dims[next++] = isReduced[axis] ? 1 : shape.get(axis);
            }
        }
        return new Shape(dims);
    }

    /** The shape with other axes in the place of one. */
    static Shape replaced(Shape shape, int axis, Shape others) {
        int at = axis < 0 ? axis + shape.dimension() : axis;
        if (at < 0 || at >= shape.dimension()) {
            return new Shape();
        }
        return shape.slice(0, at).addAll(others).addAll(shape.slice(at + 1));
    }

    /** The shape of what indices of the same rank choose along an axis. */
    static Shape gathered(Shape shape, Shape indices, int axis) {
        int at = axis < 0 ? axis + shape.dimension() : axis;
        boolean fits = at >= 0 && at < shape.dimension() && shape.dimension() == indices.dimension();
        return fits ? replaced(shape, at, new Shape(indices.get(at))) : new Shape();
    }

    /** The wider float, the float, or the wider integer ranks higher. */
    private static int rankOf(DataType type) {
        switch (type) {
            case FLOAT64:
                return 4;
            case FLOAT32:
                return 3;
            case FLOAT16:
            case BFLOAT16:
                return 2;
            case INT64:
                return 1;
            default:
                return 0;
        }
    }
}
