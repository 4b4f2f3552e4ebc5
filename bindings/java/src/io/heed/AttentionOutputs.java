// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.List;
import java.util.function.ObjLongConsumer;

/**
 * The outputs of a block such as {@link MultiHeadAttention} for {@code forward(inputs, outputs, workspace)}. Make them
 * once, for example with {@code createOutputs(inputs, wanted)}, and use them for many calls. An output that is null is
 * not computed; at least one must be set. Requesting more outputs never changes the values of the others. Not
 * thread-safe.
 */
public final class AttentionOutputs implements AutoCloseable {
    private static final Wanted[] ALL = Wanted.values();

    /** The setters of C's struct, by the ordinal of the output. */
    static final List<ObjLongConsumer<NativeLayerOutputs>> SETTERS = List.of(
            NativeLayerOutputs::setOutput, NativeLayerOutputs::setWeights, NativeLayerOutputs::setLogSumExp);

    /** The names in exceptions, likewise. */
    private static final List<String> NAMES = List.of("output", "weights", "logSumExp");

    private final NDArray[] arrays = new NDArray[ALL.length];
    private Taps taps;

    /** Makes outputs, none of which is requested. */
    public AttentionOutputs() {}

    /**
     * Sets the array that the output is written to.
     *
     * @param output an array of the output's shape, of the queries' type or FLOAT32; null: not computed
     * @return this
     */
    public AttentionOutputs setOutput(NDArray output) {
        return set(Wanted.OUTPUT, output);
    }

    /**
     * Sets the array that the attention weights are written to, before dropout.
     *
     * @param weights (B, H, Q, K), or (B, Q, K) where there are no heads, of the queries' type or FLOAT32; null: not
     *     computed
     * @return this
     */
    public AttentionOutputs setWeights(NDArray weights) {
        return set(Wanted.WEIGHTS, weights);
    }

    /**
     * Sets the array that the log-sum-exp of each query's scores is written to.
     *
     * @param logSumExp (B, H, Q), or (B, Q) where there are no heads, of FLOAT32; null: not computed
     * @return this
     */
    public AttentionOutputs setLogSumExp(NDArray logSumExp) {
        return set(Wanted.LOG_SUM_EXP, logSumExp);
    }

    /**
     * Sets where the weights and log-sum-exps of attentions inside the block are written to.
     *
     * @param taps taps with arrays, which {@code createTaps} of the block makes; null: none are computed
     * @return this
     */
    public AttentionOutputs setTaps(Taps taps) {
        this.taps = taps;
        return this;
    }

    /**
     * Returns where the weights and log-sum-exps of attentions inside the block are written to.
     *
     * @return the taps, or null
     */
    public Taps getTaps() {
        return taps;
    }

    /**
     * Returns the array that the output is written to.
     *
     * @return the array, or null
     */
    public NDArray getOutput() {
        return get(Wanted.OUTPUT);
    }

    /**
     * Returns the array that the attention weights are written to.
     *
     * @return the array, or null
     */
    public NDArray getWeights() {
        return get(Wanted.WEIGHTS);
    }

    /**
     * Returns the array that the log-sum-exp is written to.
     *
     * @return the array, or null
     */
    public NDArray getLogSumExp() {
        return get(Wanted.LOG_SUM_EXP);
    }

    NDArray get(Wanted wanted) {
        return arrays[wanted.ordinal()];
    }

    AttentionOutputs set(Wanted wanted, NDArray array) {
        arrays[wanted.ordinal()] = array;
        return this;
    }

    /** The name in exceptions. */
    static String nameOf(Wanted wanted) {
        return NAMES.get(wanted.ordinal());
    }

    /** Sets all members of C's struct. Throws if an array is closed. */
    void fill(TensorMembers members) {
        for (int index = 0; index < arrays.length; index++) {
            members.set(index, NDArray.tensorOf(arrays[index], nameOf(ALL[index])));
        }
    }

    /** Closes the arrays, but not those of taps. They stay set. */
    @Override
    public void close() {
        for (NDArray array : arrays) {
            if (array != null) {
                array.close();
            }
        }
    }
}
