// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Reductions of the elements of arrays along axes. */
final class ArrayReductions {
    private ArrayReductions() {}

    /**
     * Reduces some axes.
     *
     * @param axes null: all axes
     * @param keepDims only for a new result
     */
    static NDArray of(Reduction reduction, ArrayData a, int[] axes, boolean keepDims, NDArray result) {
        NDArray target = result == null
                ? a.made(
                        ResultRules.of(reduction, a.dataType), ResultRules.reduced(a.shape, axes, keepDims))
                : ResultArray.target(result);
        try {
            int count = axes == null ? 0 : axes.length;
            HeedNative.heed_reduce_axes(reduction.ordinal(), a.tensor(), axes, count, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        return ResultArray.finished(result, target);
    }

    /** Reduces one axis. */
    static NDArray of(Reduction reduction, ArrayData a, int axis, boolean keepDims, NDArray result) {
        NDArray target = result == null
                ? a.made(
                        ResultRules.of(reduction, a.dataType),
                        ResultRules.reduced(a.shape, new int[] {axis}, keepDims))
                : ResultArray.target(result);
        try {
            HeedNative.heed_reduce(reduction.ordinal(), a.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        return ResultArray.finished(result, target);
    }

    static NDArray logSoftmax(ArrayData a, int axis, NDArray result) {
        NDArray target = result == null ? a.made(a.dataType, a.shape) : ResultArray.target(result);
        try {
            HeedNative.heed_log_softmax(a.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        return ResultArray.finished(result, target);
    }

    static NDArray norm(NDArray array, int ord, int[] axes, boolean keepDims) {
        array.data().checkOpen();
        if (ord == 2) {
            return of(Reduction.NORM, array.data(), axes, keepDims, null);
        }
        if (ord != 1) {
            throw new IllegalArgumentException("ord is " + ord + ", expected 1 or 2");
        }
        try (NDArray magnitudes = array.abs()) {
            return of(Reduction.SUM, magnitudes.data(), axes, keepDims, null);
        }
    }

    /** The elements divided by the norms along an axis, or by eps where a norm is smaller. */
    static NDArray normalized(NDArray array, double exponent, int axis, double eps, NDArray result) {
        array.data().checkOpen();
        if (!(exponent > 0)) {
            throw new IllegalArgumentException("exponent is " + exponent + ", expected a number above 0");
        }
        try (NDArray norms = exponent == 2
                ? of(Reduction.NORM, array.data(), axis, true, null)
                : norms(array, exponent, axis)) {
            norms.maximum(eps, norms);
            return ArrayArithmetic.of(ElementFunction.DIV, array.data(), norms.data(), result);
        }
    }

    /** Whether some elements are true; any but 0 is. */
    static NDArray any(ArrayData a, NDArray result) {
        if (hasTruth(a)) {
            return of(Reduction.MAX, a, null, false, result);
        }
        try (NDArray count = countOfTrue(a)) {
            return ArrayArithmetic.compared(Comparison.GT, count.data(), 0, result);
        }
    }

    static NDArray all(ArrayData a, NDArray result) {
        if (hasTruth(a)) {
            return of(Reduction.MIN, a, null, false, result);
        }
        try (NDArray count = countOfTrue(a)) {
            return ArrayArithmetic.compared(Comparison.EQ, count.data(), a.shape.size(), result);
        }
    }

    static NDArray none(ArrayData a, NDArray result) {
        NDArray any = any(a, result);
        return any.logicalNot(any);
    }

    /** Whether there are truth values, of which the largest and the smallest tell. */
    private static boolean hasTruth(ArrayData a) {
        return a.dataType == DataType.BOOLEAN && a.shape.size() > 0;
    }

    private static NDArray countOfTrue(ArrayData a) {
        try (NDArray isTrue = ArrayArithmetic.of(ElementFunction.LOGICAL_OR, a, a, null)) {
            return isTrue.sum();
        }
    }

    private static NDArray norms(NDArray array, double exponent, int axis) {
        try (NDArray powers = array.abs()) {
            powers.powi(exponent);
            NDArray sums = of(Reduction.SUM, powers.data(), axis, true, null);
            return sums.powi(1 / exponent);
        }
    }
}
