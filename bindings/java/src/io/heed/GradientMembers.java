// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.List;
import java.util.function.ObjLongConsumer;

/** heed_layer_gradients of one call. */
final class GradientMembers implements AutoCloseable {
    private static final List<String> INPUTS =
            List.of("queries", "keys", "values", "bias", "alibi_slopes", "sinks", "self_bias", "memory");

    /** The setters of the struct: the gradients by these inputs in their order, then those of output and parameters. */
    private static final List<ObjLongConsumer<NativeLayerGradients>> SETTERS = List.of(
            NativeLayerGradients::setQueries,
            NativeLayerGradients::setKeys,
            NativeLayerGradients::setValues,
            NativeLayerGradients::setBias,
            NativeLayerGradients::setAlibiSlopes,
            NativeLayerGradients::setSinks,
            NativeLayerGradients::setSelfBias,
            NativeLayerGradients::setMemory,
            NativeLayerGradients::setOutput,
            NativeLayerGradients::setParameters);

    private static final int OUTPUT = INPUTS.size();
    private static final int PARAMETERS = OUTPUT + 1;

    final NativeLayerGradients struct = new NativeLayerGradients();
    private final TensorMembers members = new TensorMembers().add(struct, SETTERS);

    /** Adds to what the arrays hold. */
    GradientMembers() {
        struct.setAccumulate(1);
    }

    /** The index of the member of each input; -1: it has none. */
    static int[] ofInputs() {
        int[] members = new int[AttentionInputs.count()];
        Arrays.fill(members, -1);
        for (int member = 0; member < INPUTS.size(); member++) {
            members[AttentionInputs.indexOf(INPUTS.get(member))] = member;
        }
        return members;
    }

    void setInput(int member, NDArray gradient) {
        members.set(member, gradient.tensor());
    }

    void setOutput(NDArray gradient) {
        members.set(OUTPUT, gradient.tensor());
    }

    void setParameters(NativeGradients gradients) {
        members.set(PARAMETERS, gradients);
    }

    @Override
    public void close() {
        members.release();
        struct.close();
    }
}
