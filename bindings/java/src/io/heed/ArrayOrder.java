// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** Sums along an axis, sorting, and choosing elements by indices. */
final class ArrayOrder {
    private ArrayOrder() {}

    static NDArray sums(ArrayData a, int axis, NDArray result) {
        NDArray target = result == null
                ? a.made(ResultRules.of(Reduction.SUM, a.dataType), a.shape)
                : ResultArray.target(result);
        try {
            HeedNative.heed_cumulative_sum(a.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        return ResultArray.finished(result, target);
    }

    static NDArray sums(ArrayData a, NDArray result) {
        a.checkOpen();
        try (NativeTensor flat = a.reshaped(a.shape.size())) {
            return sums(a.withTensor(flat), 0, result);
        }
    }

    static NDArray sorted(ArrayData a, int axis, NDArray values) {
        NDArray target = values == null ? a.made(a.dataType, a.shape) : ResultArray.target(values, "values");
        try {
            HeedNative.heed_sort(a.tensor(), axis, 0, target.tensor(), null);
        } catch (Throwable error) {
            throw ResultArray.dropped(values, target, error);
        }
        return ResultArray.finished(values, target);
    }

    static NDArray order(ArrayData a, int axis, boolean ascending, NDArray indices) {
        NDArray target = indices == null ? a.made(DataType.INT64, a.shape) : ResultArray.target(indices, "indices");
        try {
            HeedNative.heed_sort(a.tensor(), axis, ascending ? 0 : 1, null, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(indices, target, error);
        }
        return ResultArray.finished(indices, target);
    }

    /** The first elements in an order, and their indices. */
    static NDList first(ArrayData a, int k, int axis, boolean largest) {
        Shape shape = shapeOfFirst(a, k, axis);
        NDArray values = a.made(a.dataType, shape);
        NDArray indices = null;
        try {
            indices = a.made(DataType.INT64, shape);
            HeedNative.heed_top_k(a.tensor(), axis, largest ? 1 : 0, values.tensor(), indices.tensor());
        } catch (Throwable error) {
            if (indices != null) {
                indices.close();
            }
            throw ResultArray.dropped(null, values, error);
        }
        return new NDList(values, indices);
    }

    static NDList first(ArrayData a, int k, int axis, boolean largest, NDArray values, NDArray indices) {
        Objects.requireNonNull(values, "values");
        Objects.requireNonNull(indices, "indices");
        Shape shape = shapeOfFirst(a, k, axis);
        NDArray elements = ResultArray.target(values, "values");
        try {
            ResultArray.checkShape("values", values, shape);
            NDArray places = ResultArray.target(indices, "indices");
            try {
                HeedNative.heed_top_k(a.tensor(), axis, largest ? 1 : 0, elements.tensor(), places.tensor());
            } catch (Throwable error) {
                throw ResultArray.dropped(indices, places, error);
            }
            ResultArray.finished(indices, places);
        } catch (Throwable error) {
            throw ResultArray.dropped(values, elements, error);
        }
        ResultArray.finished(values, elements);
        return new NDList(values, indices);
    }

    private static Shape shapeOfFirst(ArrayData a, int k, int axis) {
        a.checkOpen();
        int along = Shape.axisFromZero("axis", axis, a.shape.dimension());
        if (k < 0 || k > a.shape.get(along)) {
            throw new IllegalArgumentException("k is " + k + ", expected 0 to " + a.shape.get(along) + ", the size of axis "
                    + along + ": the array has the shape " + a.shape);
        }
        return ResultRules.replaced(a.shape, along, new Shape(k));
    }

    static NDArray gathered(ArrayData a, ArrayData indices, int axis, NDArray result) {
        Tape tape = result == null ? Tape.following(a) : null;
        Tape.refuseArgument("gather", indices);
        NDArray target = result == null
                ? a.made(a.dataType, ResultRules.gathered(a.shape, indices.shape, axis))
                : ResultArray.target(result);
        try {
            HeedNative.heed_gather(a.tensor(), indices.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : IndexGradients.gather(tape, a, indices, axis, computed);
    }

    static NDArray taken(ArrayData a, ArrayData indices, int axis, NDArray result) {
        Tape tape = result == null ? Tape.following(a) : null;
        Tape.refuseArgument("take", indices);
        NDArray target = result == null
                ? a.made(a.dataType, ResultRules.replaced(a.shape, axis, indices.shape))
                : ResultArray.target(result);
        try {
            HeedNative.heed_take(a.tensor(), indices.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : IndexGradients.take(tape, a, indices, axis, computed);
    }

    /** The elements at indices in row-major order. */
    static NDArray taken(ArrayData a, ArrayData indices, NDArray result) {
        a.checkOpen();
        if (result == null && Tape.following(a) != null) {
            try (NDArray flat = ArrayViews.reshaped(a, new long[] {a.shape.size()})) {
                return taken(flat.data(), indices, 0, null);
            }
        }
        try (NativeTensor flat = a.reshaped(a.shape.size())) {
            return taken(a.withTensor(flat), indices, 0, result);
        }
    }

    static NDArray picked(ArrayData a, ArrayData indices, int axis, NDArray result) {
        a.checkOpen();
        Tape tape = result == null ? Tape.following(a) : null;
        Tape.refuseArgument("pick", indices);
        int picked = Shape.axisFromZero("axis", axis, a.shape.dimension());
        Shape with = indices.shape.dimension() < picked
                ? indices.shape
                : indices.shape.slice(0, picked).add(1).addAll(indices.shape.slice(picked));
        Shape shape = ResultRules.reduced(a.shape, new int[] {picked}, false);
        NDArray target = result == null ? a.made(a.dataType, shape) : ResultArray.target(result);
        try (NativeTensor column = indices.reshaped(with.dims())) {
            ResultArray.checkShape("result", target, shape);
            long[] place = ResultRules.replaced(a.shape, picked, new Shape(1)).dims();
            try (NativeTensor found = target.tensor().reshape(place)) {
                HeedNative.heed_gather(a.tensor(), column, picked, found);
            }
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : IndexGradients.pick(tape, a, indices, with, picked, computed);
    }

    static NDArray oneHot(NDArray indices, int depth, float onValue, float offValue, DataType type, NDArray result) {
        Objects.requireNonNull(type, "dataType");
        ArrayData a = indices.data();
        a.checkOpen();
        NumberTensors numbers = NumberTensors.take(a.manager());
        try (NativeTensor places = a.create(DataType.FLOAT64, size("depth", depth));
                NativeTensor column = a.reshaped(a.shape.add(1).dims());
                NativeTensor isPlace = a.create(DataType.BOOLEAN, a.shape.add(depth).dims())) {
            places.fillArange(0, 1);
            HeedNative.heed_compare(Comparison.EQ.ordinal(), column, places, isPlace);
            NativeTensor there = numbers.of("onValue", onValue, type);
            NativeTensor elsewhere = numbers.second().of("offValue", offValue, type);
            NDArray target = result == null ? a.made(type, a.shape.add(depth)) : ResultArray.target(result);
            try {
                HeedNative.heed_select(isPlace, there, elsewhere, target.tensor());
            } catch (Throwable error) {
                throw ResultArray.dropped(result, target, error);
            }
            return ResultArray.finished(result, target);
        } finally {
            numbers.give();
        }
    }

    private static long size(String name, int size) {
        if (size < 0) {
            throw new IllegalArgumentException(name + " is " + size + ", expected 0 or more");
        }
        return size;
    }
}
