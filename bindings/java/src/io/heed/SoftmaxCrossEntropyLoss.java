// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * The mean cross-entropy of predictions and labels: over all rows, -log of the probability that a row gives to its
 * label.
 *
 * <p>By default predictions are logits whose last axis are the classes, of any shape (..., classes), and labels are the
 * numbers of classes, (...) or (..., 1).
 */
public class SoftmaxCrossEntropyLoss extends Loss {
    private final float weight;
    private final int classAxis;
    private final boolean sparseLabel;
    private final boolean fromLogit;

    /** Makes a loss with the name "SoftmaxCrossEntropyLoss" and the defaults. */
    public SoftmaxCrossEntropyLoss() {
        this("SoftmaxCrossEntropyLoss");
    }

    /**
     * Makes a loss with the defaults.
     *
     * @param name any name
     */
    public SoftmaxCrossEntropyLoss(String name) {
        this(name, 1, -1, true, true);
    }

    /**
     * Makes a loss.
     *
     * @param name any name
     * @param weight the factor of the loss; by default 1
     * @param classAxis the axis of the classes; negative ones count from the end; by default the last one
     * @param sparseLabel whether labels are the numbers of classes, as by default; otherwise they are the probabilities
     *     of all classes
     * @param fromLogit whether predictions are logits, as by default; otherwise they are the logarithms of
     *     probabilities
     */
    public SoftmaxCrossEntropyLoss(
            String name, float weight, int classAxis, boolean sparseLabel, boolean fromLogit) {
        super(name);
        this.weight = weight;
        this.classAxis = classAxis;
        this.sparseLabel = sparseLabel;
        this.fromLogit = fromLogit;
    }

    /**
     * Computes the loss.
     *
     * @param labels the numbers of classes, whole numbers of any type, of the predictions' shape without the axis of
     *     classes; or probabilities, with as many elements as the predictions. As a second array, where predictions are
     *     (items, steps, classes), the lengths of the items, (items) of FLOAT32, INT32 or INT64: the mean is then over the
     *     steps before the lengths, and others are not read
     * @param predictions one array; logits with numbers of classes are of FLOAT32
     * @return the loss, of the shape ()
     * @throws IllegalArgumentException if types or shapes do not fit, or a label is no class
     * @throws IllegalStateException if an array is closed
     */
    @Override
    public NDArray evaluate(NDList labels, NDList predictions) {
        NDArray prediction = LossArrays.single("predictions", predictions);
        int numLabels = Objects.requireNonNull(labels, "labels").size();
        boolean hasLengths = numLabels == 2;
        if (numLabels != 1 && !hasLengths) {
            throw new IllegalArgumentException(
                    "labels has " + numLabels + " arrays, expected 1, or 2: the labels and the lengths");
        }
        NDArray label = LossArrays.opened("labels", labels.get(0));
        NDArray lengths = hasLengths ? LossArrays.opened("labels", labels.get(1)) : null;
        Shape shape = prediction.getShape();
        int axis = Shape.axisFromZero("classAxis", classAxis, shape.dimension());
        if (hasLengths && (shape.dimension() != 3 || axis == 0)) {
            throw new IllegalArgumentException("predictions have the shape " + shape + " with the classAxis " + classAxis
                    + ", expected three axes beside lengths: items, steps and classes");
        }
        try (LossScope scope = new LossScope(prediction, label)) {
            if (sparseLabel && fromLogit) {
                NDArray classes = LossArrays.wholeNumbers(LossArrays.withoutClasses(label, shape, axis));
                NDArray logits = LossArrays.withClassesLast(prediction, axis);
                return scope.keep(CrossEntropy.mean("SoftmaxCrossEntropyLoss", logits, classes, lengths, weight));
            }
            NDArray rows = ComposedCrossEntropy.rows(prediction, label, axis, sparseLabel, fromLogit);
            NDArray weighted = weight == 1 ? rows : rows.mul(weight);
            return scope.keep(lengths == null ? weighted.mean() : meanBefore(lengths, weighted));
        }
    }

    /** The mean of what is before the lengths, 0 if there is nothing. */
    private static NDArray meanBefore(NDArray lengths, NDArray rows) {
        NDArray count = lengths.toType(rows.getDataType(), false).sum().maximum(1);
        return rows.sequenceMask(lengths).sum().div(count);
    }
}
