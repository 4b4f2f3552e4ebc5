// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.stream.IntStream;

/** Reductions of the elements of arrays along axes. */
final class ArrayReductions {
    /** A list of each axis alone, so that a call makes none. */
    private static final int[][] ONE_AXIS =
            IntStream.range(0, 8).mapToObj(axis -> new int[] {axis}).toArray(int[][]::new);

    private ArrayReductions() {}

    /**
     * Reduces some axes.
     *
     * @param axes null: all axes
     * @param keepDims only for a new result
     */
    static NDArray of(Reduction reduction, ArrayData a, int[] axes, boolean keepDims, NDArray result) {
        Tape tape = result == null ? Tape.following(a) : null;
        if (tape != null) {
            ReductionGradients.check(reduction);
        }
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
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : ReductionGradients.record(tape, reduction, a, axes, computed);
    }

    /** Reduces one axis. */
    static NDArray of(Reduction reduction, ArrayData a, int axis, NDArray result) {
        a.checkOpen();
        return of(reduction, a, ONE_AXIS[Shape.axisFromZero("axis", axis, a.shape.dimension())], false, result);
    }

    static NDArray softmax(ArrayData a, int axis, NDArray result) {
        Tape tape = result == null ? Tape.following(a) : null;
        NDArray target = result == null ? a.made(a.dataType, a.shape) : ResultArray.target(result);
        try {
            HeedNative.heed_softmax(a.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : ReductionGradients.softmax(tape, a, axis, computed);
    }

    static NDArray logSoftmax(ArrayData a, int axis, NDArray result) {
        Tape tape = result == null ? Tape.following(a) : null;
        NDArray target = result == null ? a.made(a.dataType, a.shape) : ResultArray.target(result);
        try {
            HeedNative.heed_log_softmax(a.tensor(), axis, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : ReductionGradients.logSoftmax(tape, a, axis, computed);
    }

    static NDArray norm(NDArray array, int ord, int[] axes, boolean keepDims) {
        array.data().checkOpen();
        if (ord == 2) {
            return of(Reduction.NORM, array.data(), axes, keepDims, null);
        }
        if (ord != 1) {
            throw new IllegalArgumentException("ord is " + ord + ", expected 1 or 2");
        }
        if (Tape.following(array.data()) != null) {
            try (NDArray magnitudes = array.abs()) {
                return of(Reduction.SUM, magnitudes.data(), axes, keepDims, null);
            }
        }
        DataType type = array.data().dataType;
        boolean isWhole = type == DataType.INT32 || type == DataType.INT64;
        try (NDArray numbers = array.toType(isWhole ? DataType.FLOAT32 : type, true)) {
            return of(Reduction.SUM, numbers.abs(numbers).data(), axes, keepDims, null);
        }
    }

    /** The elements divided by the norms along an axis, or by eps where a norm is smaller. */
    static NDArray normalized(NDArray array, double exponent, long axis, double eps, NDArray result) {
        ArrayData a = array.data();
        a.checkOpen();
        if (!(exponent > 0)) {
            throw new IllegalArgumentException("exponent is " + exponent + ", expected a number above 0");
        }
        if (!a.dataType.isFloating()) {
            throw new IllegalArgumentException("the array is of " + a.dataType.name()
                    + ", expected a type of floating-point numbers: use toType");
        }
        int along = Shape.axisFromZero("axis", axis, a.shape.dimension());
        boolean isNarrow = a.dataType == DataType.FLOAT16 || a.dataType == DataType.BFLOAT16;
        if (!isNarrow) {
            return divided(a, exponent, along, eps, result);
        }
        try (NDArray wide = array.toType(DataType.FLOAT32, true)) {
            if (result != null && result.getDataType() == DataType.FLOAT32) {
                return divided(wide.data(), exponent, along, eps, result);
            }
            divided(wide.data(), exponent, along, eps, wide);
            return result == null
                    ? a.adopt(wide.data().converted(a.dataType))
                    : ResultArray.copied(wide, a.dataType, result);
        }
    }

    private static NDArray divided(ArrayData a, double exponent, int axis, double eps, NDArray result) {
        if (Tape.following(a) != null) {
            return dividedAnew(a, exponent, axis, eps);
        }
        try (NDArray norms = exponent == 2
                ? of(Reduction.NORM, a, ONE_AXIS[axis], true, null)
                : norms(a, exponent, axis)) {
            return ArrayArithmetic.of(ElementFunction.DIV, a, norms.maximum(eps, norms).data(), result);
        }
    }

    /** The same, of operations that a gradient collector follows. */
    private static NDArray dividedAnew(ArrayData a, double exponent, int axis, double eps) {
        if (exponent != 1 && exponent != 2) {
            throw Tape.noGradient("normalize");
        }
        int[] axes = ONE_AXIS[axis];
        if (exponent == 2) {
            try (NDArray norms = of(Reduction.NORM, a, axes, true, null);
                    NDArray divisors = norms.maximum(eps)) {
                return ArrayArithmetic.of(ElementFunction.DIV, a, divisors.data(), null);
            }
        }
        try (NDArray magnitudes = ArrayArithmetic.of(ElementFunction.ABS, a, null);
                NDArray norms = of(Reduction.SUM, magnitudes.data(), axes, true, null);
                NDArray divisors = norms.maximum(eps)) {
            return ArrayArithmetic.of(ElementFunction.DIV, a, divisors.data(), null);
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

    private static NDArray norms(ArrayData a, double exponent, int axis) {
        int[] axes = ONE_AXIS[axis];
        try (NDArray powers = ArrayArithmetic.of(ElementFunction.ABS, a, null)) {
            if (Double.isInfinite(exponent)) {
                // No elements have no maximum, and there are none to divide.
                Reduction reduction = a.shape.size() == 0 ? Reduction.SUM : Reduction.MAX;
                return of(reduction, powers.data(), axes, true, null);
            }
            try (NDArray sums = of(Reduction.SUM, powers.powi(exponent).data(), axes, true, null)) {
                return sums.pow(1 / exponent);
            }
        }
    }
}
