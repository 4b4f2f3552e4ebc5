// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The cross-entropy as operations on arrays, for arguments that the native one does not take. */
final class ComposedCrossEntropy {
    private ComposedCrossEntropy() {}

    /**
     * The losses of all rows, of the predictions' shape without the axis of classes.
     *
     * @param axis the axis of classes, from 0 on
     * @param sparseLabel whether labels are the numbers of classes, rather than probabilities
     * @param fromLogit whether predictions are logits, rather than logarithms of probabilities
     */
    static NDArray rows(NDArray predictions, NDArray labels, int axis, boolean sparseLabel, boolean fromLogit) {
        Shape shape = predictions.getShape();
        // Views in the caller's scope, which then has the results, too.
        NDArray own = predictions.reshape(shape);
        NDArray logarithms = fromLogit ? own.logSoftmax(axis) : own;
        if (sparseLabel) {
            NDArray classes =
                    LossArrays.wholeNumbers(LossArrays.withoutClasses(labels, shape, axis)).stopGradient();
            if (classes.lt(0).any().getBoolean()) {
                // Where arrays are picked from, they would count from the end.
                throw new IllegalArgumentException("labels has a number below 0, expected the numbers of classes");
            }
            return logarithms.pick(classes, axis).neg();
        }
        NDArray probabilities = labels.getShape().equals(shape) ? labels : labels.reshape(shape);
        return logarithms
                .mul(probabilities.toType(predictions.getDataType(), false))
                .neg()
                .sum(new int[] {axis});
    }
}
