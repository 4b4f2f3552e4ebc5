// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Options of small encoders and decoders, and calls of blocks. */
final class TransformerScene {
    static final int SIZE = 8;

    private TransformerScene() {}

    static MultiHeadAttention.Builder attention() {
        return MultiHeadAttention.builder().setNumHiddens(SIZE).setNumHeads(2).optBias(true);
    }

    static FeedForward.Builder feedForward() {
        return FeedForward.builder().setHiddenSize(12).optActivation(ActivationKind.GELU);
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
}
