// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * How far predictions are from labels. A program may extend it, or one of the losses below, and compute with arrays.
 */
public abstract class Loss {
    private final String name;

    /**
     * Makes a loss.
     *
     * @param name any name, which {@link #getName} returns
     */
    protected Loss(String name) {
        this.name = Objects.requireNonNull(name, "name");
    }

    /**
     * Computes the loss. Under a {@link GradientCollector}, backward of it computes the gradients of what the
     * predictions were computed from.
     *
     * @param labels what is right
     * @param predictions what a block has computed
     * @return the loss, a new array, which belongs to the manager of the predictions
     */
    public abstract NDArray evaluate(NDList labels, NDList predictions);

    /**
     * Returns the name.
     *
     * @return the name that the loss was made with
     */
    public String getName() {
        return name;
    }

    @Override
    public String toString() {
        return getClass().getSimpleName() + "(" + name + ")";
    }

    /**
     * Makes half the mean squared error.
     *
     * @return the loss
     */
    public static L2Loss l2Loss() {
        return new L2Loss();
    }

    /**
     * Makes half the mean squared error.
     *
     * @param name any name
     * @return the loss
     */
    public static L2Loss l2Loss(String name) {
        return new L2Loss(name);
    }

    /**
     * Makes a mean squared error.
     *
     * @param name any name
     * @param weight the factor of each square
     * @return the loss
     */
    public static L2Loss l2Loss(String name, float weight) {
        return new L2Loss(name, weight);
    }

    /**
     * Makes the cross-entropy of the softmax of logits, whose classes are their last axis, and of labels that are the
     * numbers of classes.
     *
     * @return the loss
     */
    public static SoftmaxCrossEntropyLoss softmaxCrossEntropyLoss() {
        return new SoftmaxCrossEntropyLoss();
    }

    /**
     * Makes the same with a name.
     *
     * @param name any name
     * @return the loss
     */
    public static SoftmaxCrossEntropyLoss softmaxCrossEntropyLoss(String name) {
        return new SoftmaxCrossEntropyLoss(name);
    }

    /**
     * Makes a cross-entropy.
     *
     * @param name any name
     * @param weight the factor of the loss
     * @param classAxis the axis of the classes; negative ones count from the end
     * @param sparseLabel whether labels are the numbers of classes; otherwise they are the probabilities of all classes
     * @param fromLogit whether predictions are logits; otherwise they are the logarithms of probabilities
     * @return the loss
     */
    public static SoftmaxCrossEntropyLoss softmaxCrossEntropyLoss(
            String name, float weight, int classAxis, boolean sparseLabel, boolean fromLogit) {
        return new SoftmaxCrossEntropyLoss(name, weight, classAxis, sparseLabel, fromLogit);
    }

    /**
     * Makes the cross-entropy of sequences with lengths.
     *
     * @return the loss
     */
    public static MaskedSoftmaxCrossEntropyLoss maskedSoftmaxCrossEntropyLoss() {
        return new MaskedSoftmaxCrossEntropyLoss();
    }

    /**
     * Makes the same with a name.
     *
     * @param name any name
     * @return the loss
     */
    public static MaskedSoftmaxCrossEntropyLoss maskedSoftmaxCrossEntropyLoss(String name) {
        return new MaskedSoftmaxCrossEntropyLoss(name);
    }

    /**
     * Makes a cross-entropy of sequences with lengths.
     *
     * @param name any name
     * @param weight the factor of the loss
     * @param classAxis the axis of the classes; negative ones count from the end
     * @param sparseLabel whether labels are the numbers of classes; otherwise they are the probabilities of all classes
     * @param fromLogit whether predictions are logits; otherwise they are the logarithms of probabilities
     * @return the loss
     */
    public static MaskedSoftmaxCrossEntropyLoss maskedSoftmaxCrossEntropyLoss(
            String name, float weight, int classAxis, boolean sparseLabel, boolean fromLogit) {
        return new MaskedSoftmaxCrossEntropyLoss(name, weight, classAxis, sparseLabel, fromLogit);
    }
}
