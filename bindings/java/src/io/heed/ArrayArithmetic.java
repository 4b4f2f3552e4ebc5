// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** Functions of elements, comparisons and choices of arrays and numbers. */
final class ArrayArithmetic {
    private ArrayArithmetic() {}

    /** A function of two arrays. */
    static NDArray of(ElementFunction function, ArrayData a, ArrayData b, NDArray result) {
        Tape tape = following(function, result, a, b);
        NativeTensor other = b.tensor();
        NDArray target = result == null ? created(function, a, b) : ResultArray.target(result);
        try {
            HeedNative.heed_elementwise(function.ordinal(), a.tensor(), other, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : ElementGradients.record(tape, function, a, b, computed);
    }

    /** A function of one array. */
    static NDArray of(ElementFunction function, ArrayData a, NDArray result) {
        Tape tape = following(function, result, a, a);
        NDArray target = result == null
                ? a.made(ResultRules.of(function, a.dataType), a.shape)
                : ResultArray.target(result);
        try {
            HeedNative.heed_elementwise(function.ordinal(), a.tensor(), null, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : ElementGradients.record(tape, function, a, computed);
    }

    /** A function of an array and a number of its type. */
    static NDArray of(ElementFunction function, ArrayData a, Number number, NDArray result) {
        return withNumber(function, a, number, false, result);
    }

    /** The same with the number as the first operand. */
    static NDArray of(ElementFunction function, Number number, NDArray other) {
        Objects.requireNonNull(number, "number");
        return withNumber(function, Objects.requireNonNull(other, "other").data(), number, true, null);
    }

    /** The sum of at least two arrays. */
    static NDArray sum(NDArray[] arrays) {
        if (arrays.length < 2) {
            throw new IllegalArgumentException("arrays has " + arrays.length + " arrays, expected at least 2");
        }
        NDArray sum = Objects.requireNonNull(arrays[0], "arrays[0]").add(arrays[1]);
        for (int i = 2; i < arrays.length; i++) {
            try (NDArray before = sum) {
                sum = before.add(arrays[i]);
            }
        }
        return sum;
    }

    static NDArray compared(Comparison comparison, ArrayData a, ArrayData b, NDArray result) {
        NativeTensor other = b.tensor();
        NDArray target = result == null
                ? a.made(DataType.BOOLEAN, ResultRules.broadcast(a.shape, b.shape))
                : ResultArray.target(result);
        try {
            HeedNative.heed_compare(comparison.ordinal(), a.tensor(), other, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        return ResultArray.finished(result, target);
    }

    static NDArray compared(Comparison comparison, ArrayData a, Number number, NDArray result) {
        a.checkOpen();
        NumberTensors numbers = NumberTensors.take(a.manager());
        try {
            NativeTensor other = numbers.of("other", number, typeOfNumber(a.dataType));
            NDArray target =
                    result == null ? a.made(DataType.BOOLEAN, a.shape) : ResultArray.target(result);
            try {
                HeedNative.heed_compare(comparison.ordinal(), a.tensor(), other, target.tensor());
            } catch (Throwable error) {
                throw ResultArray.dropped(result, target, error);
            }
            return ResultArray.finished(result, target);
        } finally {
            numbers.give();
        }
    }

    /** a where the condition is true, b elsewhere. */
    static NDArray chosen(ArrayData a, ArrayData condition, ArrayData b, NDArray result) {
        Tape tape = result == null ? Tape.following(a, b) : null;
        Tape.refuseArgument("where", condition);
        NDArray target = result == null
                ? a.made(
                        ResultRules.common(a.dataType, b.dataType),
                        ResultRules.broadcast(
                                ResultRules.broadcast(condition.shape, a.shape), b.shape))
                : ResultArray.target(result);
        try {
            HeedNative.heed_select(condition.tensor(), a.tensor(), b.tensor(), target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : ChoiceGradients.where(tape, a, condition, b, computed);
    }

    /** a where the condition is true, a number of its type elsewhere. */
    static NDArray chosen(ArrayData a, ArrayData condition, Number number, NDArray result) {
        Tape tape = result == null ? Tape.following(a) : null;
        Tape.refuseArgument("where", condition);
        NumberTensors numbers = NumberTensors.take(a.manager());
        try {
            NativeTensor other = numbers.of("other", number, a.dataType);
            NDArray target = result == null
                    ? a.made(a.dataType, ResultRules.broadcast(condition.shape, a.shape))
                    : ResultArray.target(result);
            try {
                HeedNative.heed_select(condition.tensor(), a.tensor(), other, target.tensor());
            } catch (Throwable error) {
                throw ResultArray.dropped(result, target, error);
            }
            NDArray computed = ResultArray.finished(result, target);
            return tape == null ? computed : ChoiceGradients.where(tape, a, condition, null, computed);
        } finally {
            numbers.give();
        }
    }

    static NDArray clipped(ArrayData a, Number min, Number max, NDArray result) {
        Tape tape = result == null ? Tape.following(a) : null;
        a.checkOpen();
        NumberTensors numbers = NumberTensors.take(a.manager());
        try {
            DataType type = typeOfNumber(a.dataType);
            NativeTensor least = numbers.of("min", min, type);
            NativeTensor largest = numbers.second().of("max", max, type);
            NDArray target = result == null ? a.made(a.dataType, a.shape) : ResultArray.target(result);
            try {
                HeedNative.heed_clip(a.tensor(), least, largest, target.tensor());
            } catch (Throwable error) {
                throw ResultArray.dropped(result, target, error);
            }
            NDArray computed = ResultArray.finished(result, target);
            return tape == null ? computed : ChoiceGradients.clip(tape, a, min, max, computed);
        } finally {
            numbers.give();
        }
    }

    /** The elements before the length of their row, and a value behind it. Each row of the first axis has a length. */
    static NDArray masked(ArrayData a, ArrayData lengths, Number value, NDArray result) {
        Tape tape = result == null ? Tape.following(a) : null;
        Tape.refuseArgument("sequenceLength of sequenceMask", lengths);
        if (a.shape.dimension() < 2 || lengths.shape.dimension() != 1 || lengths.shape.get(0) != a.shape.get(0)) {
            throw new IllegalArgumentException("the array has the shape " + a.shape + " and sequenceLength "
                    + lengths.shape + ", expected (B, T, ...) and (B)");
        }
        long[] positionDims = new long[a.shape.dimension() - 1];
        long[] lengthDims = new long[a.shape.dimension()];
        long[] maskDims = new long[a.shape.dimension()];
        for (int axis = 0; axis < maskDims.length; axis++) {
            maskDims[axis] = axis < 2 ? a.shape.get(axis) : 1;
            lengthDims[axis] = axis < 1 ? a.shape.get(axis) : 1;
            if (axis > 0) {
                positionDims[axis - 1] = maskDims[axis];
            }
        }
        NumberTensors numbers = NumberTensors.take(a.manager());
        try (NativeTensor positions = a.create(DataType.FLOAT64, positionDims);
                NativeTensor lengthOfRow = lengths.tensor().reshape(lengthDims);
                NativeTensor isValid = a.create(DataType.BOOLEAN, maskDims)) {
            NativeTensor padding = numbers.of("value", value, a.dataType);
            positions.fillArange(0, 1);
            HeedNative.heed_compare(Comparison.LT.ordinal(), positions, lengthOfRow, isValid);
            NDArray target = result == null ? a.made(a.dataType, a.shape) : ResultArray.target(result);
            try {
                HeedNative.heed_select(isValid, a.tensor(), padding, target.tensor());
            } catch (Throwable error) {
                throw ResultArray.dropped(result, target, error);
            }
            NDArray computed = ResultArray.finished(result, target);
            return tape == null ? computed : ChoiceGradients.sequenceMask(tape, a, lengths, computed);
        } finally {
            numbers.give();
        }
    }

    private static NDArray withNumber(
            ElementFunction function, ArrayData a, Number number, boolean isFirst, NDArray result) {
        a.checkOpen();
        Tape tape = following(function, result, a, a);
        NumberTensors numbers = NumberTensors.take(a.manager());
        try {
            String name = isFirst ? "number" : "other";
            NativeTensor other = numbers.of(name, number, typeOfNumber(a.dataType));
            NDArray target = result == null
                    ? a.made(ResultRules.of(function, a.dataType), a.shape)
                    : ResultArray.target(result);
            try {
                NativeTensor first = isFirst ? other : a.tensor();
                NativeTensor second = isFirst ? a.tensor() : other;
                HeedNative.heed_elementwise(function.ordinal(), first, second, target.tensor());
            } catch (Throwable error) {
                throw ResultArray.dropped(result, target, error);
            }
            NDArray computed = ResultArray.finished(result, target);
            return tape == null ? computed : ElementGradients.record(tape, function, a, number, isFirst, computed);
        } finally {
            numbers.give();
        }
    }

    /** The tape that records a function; null: none does. Throws if it would have to, and the function has no gradient. */
    private static Tape following(ElementFunction function, NDArray result, ArrayData a, ArrayData b) {
        Tape tape = result == null ? Tape.following(a, b) : null;
        if (tape != null) {
            ElementGradients.check(function);
        }
        return tape;
    }

    private static NDArray created(ElementFunction function, ArrayData a, ArrayData b) {
        return a.made(
                ResultRules.of(function, ResultRules.common(a.dataType, b.dataType)),
                ResultRules.broadcast(a.shape, b.shape));
    }

    /** The type of a number beside an array: the array's, or any type that computes where C refuses the array. */
    private static DataType typeOfNumber(DataType type) {
        boolean isRefused = type == DataType.BOOLEAN || type == DataType.INT8 || type == DataType.UINT8;
        return isRefused ? DataType.FLOAT32 : type;
    }
}
