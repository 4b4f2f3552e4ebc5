// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** The arrays that losses are given. */
final class LossArrays {
    private LossArrays() {}

    /** The only array of a list. */
    static NDArray single(String name, NDList list) {
        int size = Objects.requireNonNull(list, name).size();
        if (size != 1) {
            throw new IllegalArgumentException(name + " has " + size + " arrays, expected 1");
        }
        return opened(name, list.get(0));
    }

    static NDArray opened(String name, NDArray array) {
        NDArray.tensorOf(Objects.requireNonNull(array, name), name);
        return array;
    }

    /** A gradient times a number: itself for 1, so that it keeps its bits. */
    static NDArray times(NDArray gradient, float factor) {
        return factor == 1 ? gradient : gradient.mul(factor);
    }

    /** Labels as whole numbers of INT32 or INT64: themselves, or a new array. */
    static NDArray wholeNumbers(NDArray labels) {
        DataType type = labels.getDataType();
        if (type == DataType.INT32 || type == DataType.INT64) {
            return labels;
        }
        NDArray whole = labels.stopGradient().toType(DataType.INT64, true);
        if (type.isFloating()) {
            NDArray again = whole.toType(type, true);
            if (!again.eq(labels.stopGradient()).all().getBoolean()) {
                throw new IllegalArgumentException(
                        "labels of " + type.name() + " are not all whole numbers: expected the numbers of classes");
            }
        }
        return whole;
    }

    /**
     * Labels without the axis of classes, which they may have with the size 1.
     *
     * @param axis the axis, from 0 on
     */
    static NDArray withoutClasses(NDArray labels, Shape predictions, int axis) {
        Shape expected = predictions.slice(0, axis).addAll(predictions.slice(axis + 1));
        Shape given = labels.getShape();
        if (given.equals(expected)) {
            return labels;
        }
        if (given.dimension() == predictions.dimension() && given.get(axis) == 1) {
            NDArray squeezed = labels.squeeze(axis);
            if (squeezed.getShape().equals(expected)) {
                return squeezed;
            }
        }
        throw new IllegalArgumentException("labels have the shape " + given + ", expected " + expected
                + ": that of the predictions, " + predictions + ", without the axis of classes");
    }

    /** Predictions with the axis of classes at their end. */
    static NDArray withClassesLast(NDArray predictions, int axis) {
        int rank = predictions.getShape().dimension();
        if (axis == rank - 1) {
            return predictions;
        }
        int[] axes = new int[rank];
        for (int i = 0; i < rank - 1; i++) {
            axes[i] = i < axis ? i : i + 1;
        }
        axes[rank - 1] = axis;
        return predictions.transpose(axes);
    }
}
