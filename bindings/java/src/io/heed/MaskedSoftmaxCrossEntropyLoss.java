// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * The cross-entropy of sequences with lengths, of each item the mean over all of its steps, where steps beyond the
 * length count as 0. Backward of it sums over the items.
 *
 * <p>By default predictions are logits (items, steps, classes), and labels are two arrays: the numbers of classes,
 * (items, steps), and the lengths, (items).
 */
public class MaskedSoftmaxCrossEntropyLoss extends Loss {
    private final float weight;
    private final int classAxis;
    private final boolean sparseLabel;
    private final boolean fromLogit;

    /** Makes a loss with the name "MaskedSoftmaxCrossEntropyLoss" and the defaults. */
    public MaskedSoftmaxCrossEntropyLoss() {
        this("MaskedSoftmaxCrossEntropyLoss");
    }

    /**
     * Makes a loss with the defaults.
     *
     * @param name any name
     */
    public MaskedSoftmaxCrossEntropyLoss(String name) {
        this(name, 1, -1, true, true);
    }

    /**
     * Makes a loss.
     *
     * @param name any name
     * @param weight the factor of the loss; by default 1
     * @param classAxis the axis of the classes, 1 or 2; negative ones count from the end; by default the last one
     * @param sparseLabel whether labels are the numbers of classes, as by default; otherwise they are the probabilities
     *     of all classes
     * @param fromLogit whether predictions are logits, as by default; otherwise they are the logarithms of
     *     probabilities
     */
    public MaskedSoftmaxCrossEntropyLoss(
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
     * @param labels two arrays: the numbers of classes, whole numbers of any type, of the predictions' shape without
     *     the axis of classes, of which those beyond the length are not read; or probabilities, with as many elements
     *     as the predictions; and the lengths, (items) of FLOAT32, INT32 or INT64
     * @param predictions one array with three axes; logits with numbers of classes are of FLOAT32
     * @return the loss of each item, (items)
     * @throws IllegalArgumentException if types or shapes do not fit, or a label is no class
     * @throws IllegalStateException if an array is closed
     */
    @Override
    public NDArray evaluate(NDList labels, NDList predictions) {
        NDArray prediction = LossArrays.single("predictions", predictions);
        if (Objects.requireNonNull(labels, "labels").size() != 2) {
            throw new IllegalArgumentException(
                    "labels has " + labels.size() + " arrays, expected 2: the labels and the lengths");
        }
        NDArray label = LossArrays.opened("labels", labels.get(0));
        NDArray lengths = LossArrays.opened("labels", labels.get(1));
        Shape shape = prediction.getShape();
        int axis = shape.dimension() == 3 ? Shape.axisFromZero("classAxis", classAxis, 3) : 0;
        if (axis == 0) {
            throw new IllegalArgumentException("predictions have the shape " + shape + " with the classAxis "
                    + classAxis + ", expected three axes: items, steps and classes");
        }
        try (LossScope scope = new LossScope(prediction, label)) {
            if (sparseLabel && fromLogit) {
                NDArray classes = LossArrays.wholeNumbers(LossArrays.withoutClasses(label, shape, axis));
                NDArray logits = LossArrays.withClassesLast(prediction, axis);
                return scope.keep(
                        CrossEntropy.ofItems("MaskedSoftmaxCrossEntropyLoss", logits, classes, lengths, weight));
            }
            NDArray rows = ComposedCrossEntropy.rows(prediction, label, axis, sparseLabel, fromLogit)
                    .sequenceMask(lengths);
            return scope.keep((weight == 1 ? rows : rows.mul(weight)).mean(new int[] {1}));
        }
    }
}
