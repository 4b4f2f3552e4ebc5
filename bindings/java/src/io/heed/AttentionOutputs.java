// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.List;
import java.util.function.ObjLongConsumer;
import java.util.stream.Collectors;

/**
 * What a block, as {@link MultiHeadAttention}, writes in {@code forward(inputs, outputs, workspace)}: made once, as by
 * {@code createOutputs(inputs, wanted)}, and used for many calls. Null where not wanted; one at least is. To ask for
 * more never changes the others. Not for several threads at once.
 */
public final class AttentionOutputs implements AutoCloseable {
    private static final Wanted[] ALL = Wanted.values();

    /** By the ordinal of an output. */
    static final List<ObjLongConsumer<NativeLayerOutputs>> SETTERS =
            Arrays.stream(ALL).map(wanted -> wanted.setter).collect(Collectors.toList());

    private final NDArray[] arrays = new NDArray[ALL.length];

    /** Makes outputs of which none is wanted. */
    public AttentionOutputs() {}

    /**
     * Sets where the output goes.
     *
     * @param output an array of the output's shape, of the queries' type or FLOAT32; null: not wanted
     * @return this
     */
    public AttentionOutputs setOutput(NDArray output) {
        return set(Wanted.OUTPUT, output);
    }

    /**
     * Sets where the attention weights go, those before dropout.
     *
     * @param weights (B, H, Q, K), or (B, Q, K) where there are no heads, of the queries' type or FLOAT32; null: not
     *     wanted
     * @return this
     */
    public AttentionOutputs setWeights(NDArray weights) {
        return set(Wanted.WEIGHTS, weights);
    }

    /**
     * Sets where the natural logarithms of the sums of exponentiated scores go.
     *
     * @param logSumExp (B, H, Q), or (B, Q) where there are no heads, of FLOAT32; null: not wanted
     * @return this
     */
    public AttentionOutputs setLogSumExp(NDArray logSumExp) {
        return set(Wanted.LOG_SUM_EXP, logSumExp);
    }

    /**
     * Returns where the output goes.
     *
     * @return the array, or null
     */
    public NDArray getOutput() {
        return get(Wanted.OUTPUT);
    }

    /**
     * Returns where the attention weights go.
     *
     * @return the array, or null
     */
    public NDArray getWeights() {
        return get(Wanted.WEIGHTS);
    }

    /**
     * Returns where the logarithms of the sums go.
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

    /** Sets all members; throws if an array is closed. */
    void fill(TensorMembers members) {
        for (int index = 0; index < arrays.length; index++) {
            members.set(index, NDArray.tensorOf(arrays[index], ALL[index].label));
        }
    }

    /** Closes the arrays, which stay set. */
    @Override
    public void close() {
        for (NDArray array : arrays) {
            if (array != null) {
                array.close();
            }
        }
    }
}
