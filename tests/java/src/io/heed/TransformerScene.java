// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Options of small encoders and decoders, and arithmetic on rows of floats. */
final class TransformerScene {
    static final int SIZE = 8;
    static final int HIDDEN_SIZE = 12;

    /**
     * How much the same sums in another order may differ: outputs of norms are below 4, and of 40 roundings each is at
     * most 2^-24 of what it rounds, which is below 16.
     */
    private static final float ROUNDING = 40f * 16 / (1 << 24);

    private TransformerScene() {}

    static MultiHeadAttention.Builder attention() {
        return MultiHeadAttention.builder().setNumHiddens(SIZE).setNumHeads(2).optBias(true);
    }

    static FeedForward.Builder feedForward() {
        return FeedForward.builder().setHiddenSize(HIDDEN_SIZE).optActivation(ActivationKind.GELU);
    }

    static TransformerEncoderBlock.Builder encoderBlock() {
        return TransformerEncoderBlock.builder().setAttention(attention()).setFeedForward(feedForward());
    }

    /** A decoder layer whose self-attention is causal, without cross attention. */
    static TransformerDecoderBlock.Builder decoderBlock() {
        return TransformerDecoderBlock.builder()
                .setSelfAttention(attention().optCausal(Causal.BOTTOM_RIGHT))
                .setFeedForward(feedForward());
    }

    static NDArray forward(Block block, NDArray... inputs) {
        return block.forward(new ParameterStore(), new NDList(inputs), false).singletonOrThrow();
    }

    static NDArray forward(NativeBlock block, AttentionInputs inputs) {
        AttentionOutputs outputs = block.createOutputs(inputs);
        block.forward(inputs, outputs, null);
        return outputs.getOutput();
    }

    static NDArray sum(NDArray a, NDArray b) {
        float[] sums = a.toFloatArray();
        float[] summands = b.toFloatArray();
        for (int i = 0; i < sums.length; i++) {
            sums[i] += summands[i];
        }
        return a.getManager().create(sums, a.getShape());
    }

    static void near(NDArray expected, NDArray found) {
        assertEquals(expected.getShape(), found.getShape());
        float[] a = expected.toFloatArray();
        float[] b = found.toFloatArray();
        for (int i = 0; i < a.length; i++) {
            assertEquals(a[i], b[i], ROUNDING, "element " + i);
        }
    }
}
