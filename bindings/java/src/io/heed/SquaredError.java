// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The squared error with its gradient, in one native call. */
final class SquaredError {
    private static final String NAME = "L2Loss";

    private SquaredError() {}

    /** The mean of weight * (predictions - targets)^2, both of FLOAT32 and of one shape. */
    static NDArray mean(NDArray predictions, NDArray targets, float weight) {
        ArrayData data = predictions.data();
        Tape tape = Tape.following(data, targets.data());
        try (NDArray gradient = tape == null ? null : data.made(DataType.FLOAT32, data.shape);
                NativeSquaredErrorOptions options = new NativeSquaredErrorOptions()) {
            options.setFactor(Optimizer.decimal(weight));
            double total = HeedNative.heed_squared_error(
                    data.tensor(),
                    targets.tensor(),
                    options,
                    null,
                    gradient == null ? null : gradient.tensor());
            NDArray loss = predictions.getManager().create((float) total);
            if (tape == null) {
                return loss;
            }
            return tape.record(NAME, loss, new ArrayData[] {data, targets.data()}, node -> {
                NDArray held = node.hold("gradient", gradient.data());
                return (whole, input) -> LossArrays.times(held, input == 0 ? whole.getFloat() : -whole.getFloat());
            });
        }
    }
}
