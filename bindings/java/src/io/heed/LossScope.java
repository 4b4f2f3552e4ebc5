// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Frees what a loss makes on the way, of the predictions and of labels that another manager may own. */
final class LossScope implements AutoCloseable {
    private final NDScope ofPredictions;
    /** Null where the other scope takes both. */
    private final NDScope ofLabels;

    LossScope(NDArray predictions, NDArray labels) {
        ofPredictions = predictions.getManager().scope();
        try {
            NDManager other = labels.getManager();
            ofLabels = other.base() == predictions.getManager().base() ? null : other.scope();
        } catch (Throwable error) {
            ofPredictions.close();
            throw error;
        }
    }

    /** Moves the loss out of the scope. */
    NDArray keep(NDArray loss) {
        return ofPredictions.keep(loss);
    }

    @Override
    public void close() {
        if (ofLabels != null) {
            ofLabels.close();
        }
        ofPredictions.close();
    }
}
