// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * What a block, as {@link MultiHeadAttention}, writes in {@code forward(inputs, outputs, workspace)}: made once, as by
 * {@code createOutputs(inputs, wanted)}, and used for many calls. Null where not wanted; one at least is. To ask for
 * more never changes the others. Not for several threads at once.
 */
public final class AttentionOutputs implements AutoCloseable {
    private NDArray output;
    private NDArray weights;
    private NDArray logSumExp;

    /** Makes outputs of which none is wanted. */
    public AttentionOutputs() {}

    /**
     * Sets where the output goes.
     *
     * @param output an array of the output's shape, of the queries' type or FLOAT32; null: not wanted
     * @return this
     */
    public AttentionOutputs setOutput(NDArray output) {
        this.output = output;
        return this;
    }

    /**
     * Sets where the attention weights go, those before dropout.
     *
     * @param weights (B, H, Q, K), or (B, Q, K) where there are no heads, of the queries' type or FLOAT32; null: not
     *     wanted
     * @return this
     */
    public AttentionOutputs setWeights(NDArray weights) {
        this.weights = weights;
        return this;
    }

    /**
     * Sets where the natural logarithms of the sums of exponentiated scores go.
     *
     * @param logSumExp (B, H, Q), or (B, Q) where there are no heads, of FLOAT32; null: not wanted
     * @return this
     */
    public AttentionOutputs setLogSumExp(NDArray logSumExp) {
        this.logSumExp = logSumExp;
        return this;
    }

    /**
     * Returns where the output goes.
     *
     * @return the array, or null
     */
    public NDArray getOutput() {
        return output;
    }

    /**
     * Returns where the attention weights go.
     *
     * @return the array, or null
     */
    public NDArray getWeights() {
        return weights;
    }

    /**
     * Returns where the logarithms of the sums go.
     *
     * @return the array, or null
     */
    public NDArray getLogSumExp() {
        return logSumExp;
    }

    NDArray get(Wanted wanted) {
        return wanted == Wanted.OUTPUT ? output : wanted == Wanted.WEIGHTS ? weights : logSumExp;
    }

    void set(Wanted wanted, NDArray array) {
        switch (wanted) {
            case OUTPUT:
                output = array;
                break;
            case WEIGHTS:
                weights = array;
                break;
            default:
                logSumExp = array;
        }
    }

    /** Closes the arrays, which stay set. */
    @Override
    public void close() {
        for (Wanted wanted : Wanted.values()) {
            if (get(wanted) != null) {
                get(wanted).close();
            }
        }
    }
}
