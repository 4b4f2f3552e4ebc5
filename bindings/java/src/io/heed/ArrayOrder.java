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

    static NDArray sums(ArrayData a) {
        NDArray target = a.made(ResultRules.of(Reduction.SUM, a.dataType), new Shape(a.shape.size()));
        try (NativeTensor flat = a.reshaped(a.shape.size())) {
            HeedNative.heed_cumulative_sum(flat, 0, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(null, target, error);
        }
        return target;
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
        a.checkOpen();
        Shape shape = ResultRules.replaced(a.shape, axis, new Shape(size("k", k)));
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

    static NDArray gathered(ArrayData a, ArrayData indices, int axis, NDArray result) {
        NDArray target = result == null
                ? a.made(a.dataType, ResultRules.gathered(a.shape, indices.shape, axis))
                : ResultArray.target(result);
        try {
            HeedNative.heed_gather(a.tensor(), indices.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        return ResultArray.finished(result, target);
    }

    static NDArray taken(ArrayData a, ArrayData indices, int axis, NDArray result) {
        NDArray target = result == null
                ? a.made(a.dataType, ResultRules.replaced(a.shape, axis, indices.shape))
                : ResultArray.target(result);
        try {
            HeedNative.heed_take(a.tensor(), indices.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        return ResultArray.finished(result, target);
    }

    /** The elements at indices in row-major order. */
    static NDArray taken(ArrayData a, ArrayData indices) {
        NDArray target = a.made(a.dataType, indices.shape);
        try (NativeTensor flat = a.reshaped(a.shape.size())) {
            HeedNative.heed_take(flat, indices.tensor(), 0, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(null, target, error);
        }
        return target;
    }

    static NDArray picked(ArrayData a, ArrayData indices, int axis) {
        a.checkOpen();
        int picked = Shape.axisFromZero("axis", axis, a.shape.dimension());
        Shape with = indices.shape.dimension() < picked
                ? indices.shape
                : indices.shape.slice(0, picked).add(1).addAll(indices.shape.slice(picked));
        try (NDArray column = indices.adopt(indices.reshaped(with.dims()));
                NDArray found = gathered(a, column.data(), picked, null)) {
            return found.reshape(ResultRules.reduced(found.data().shape, new int[] {picked}, false));
        }
    }

    static NDArray oneHot(NDArray indices, int depth, float onValue, float offValue, DataType type) {
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
            NDArray target = a.made(type, a.shape.add(depth));
            try {
                HeedNative.heed_select(isPlace, there, elsewhere, target.tensor());
            } catch (Throwable error) {
                throw ResultArray.dropped(null, target, error);
            }
            return target;
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
