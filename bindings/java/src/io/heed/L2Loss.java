// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** A mean squared error: the mean over all elements of weight * (prediction - label)^2. */
public class L2Loss extends Loss {
    private final float weight;

    /** Makes a loss with the name "L2Loss" and the weight 0.5. */
    public L2Loss() {
        this("L2Loss");
    }

    /**
     * Makes a loss with the weight 0.5.
     *
     * @param name any name
     */
    public L2Loss(String name) {
        this(name, 0.5f);
    }

    /**
     * Makes a loss.
     *
     * @param name any name
     * @param weight the factor of each square
     */
    public L2Loss(String name, float weight) {
        super(name);
        this.weight = weight;
    }

    /**
     * Computes the loss.
     *
     * @param labels one array with as many elements as the predictions, of any type: other types than FLOAT32 are
     *     converted
     * @param predictions one array of FLOAT32
     * @return the loss, of the shape ()
     * @throws IllegalArgumentException if the types or the numbers of elements do not fit, or the weight is not finite
     * @throws IllegalStateException if an array is closed
     */
    @Override
    public NDArray evaluate(NDList labels, NDList predictions) {
        NDArray prediction = LossArrays.single("predictions", predictions);
        NDArray label = LossArrays.single("labels", labels);
        try (LossScope scope = new LossScope(prediction, label)) {
            Shape shape = prediction.getShape();
            NDArray shaped = label.getShape().equals(shape) ? label : label.reshape(shape);
            return scope.keep(SquaredError.mean(prediction, shaped.toType(DataType.FLOAT32, false), weight));
        }
    }
}
