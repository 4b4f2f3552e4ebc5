// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * The position-wise feed-forward network (Vaswani et al., "Attention Is All You Need", 2017, section 3.3) over the last
 * axis of its input: W_2 dropout(activation(W_1 x)), or gated W_2 dropout(activation(W_gate x) * W_1 x) (Shazeer, "GLU
 * Variants Improve Transformer", 2020).
 *
 * <p>Its parameters are "W_1.weight" (hiddenSize, size of the input), "W_2.weight" (outputSize, hiddenSize), if it is
 * gated "W_gate.weight" (hiddenSize, size of the input), and, unless it is made without bias, "W_1.bias" and so on.
 *
 * <p>forward takes a list of one array (..., E) of FLOAT32, FLOAT16 or BFLOAT16, and gives a list of one array (...,
 * outputSize) of the same type. Many threads may call it on one block at the same time; a call that changes the
 * parameters waits for them.
 */
public final class FeedForward extends SingleInputBlock<FeedForward.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    FeedForward(Builder options, ChildLayer.Place place) {
        super("FeedForward", options);
        construct(place);
    }

    /**
     * Begins a feed-forward network.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Makes a feed-forward network. */
    public static final class Builder extends LayerOptions<Builder> {
        private long hiddenSize;
        private long outputSize;
        private ActivationKind activation = ActivationKind.RELU;
        private boolean gated;
        private boolean bias = true;
        private float dropout;

        private Builder() {}

        @Override
        String describe() {
            return "FeedForward(hiddenSize=" + hiddenSize + ", activation=" + activation + ", gated=" + gated
                    + ", bias=" + bias + ", dropout=" + dropout + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_feed_forward_create(context, toNative(structs));
        }

        /** The options as C's struct. */
        NativeFeedForwardOptions toNative(NativeStructs structs) {
            NativeFeedForwardOptions members = structs.add(new NativeFeedForwardOptions());
            members.setHiddenSize(hiddenSize);
            members.setOutputSize(outputSize);
            members.setActivation(activation.code);
            members.setGated(gated ? 1 : 0);
            members.setNoBias(bias ? 0 : 1);
            members.setDropout(dropout);
            return members;
        }

        /**
         * Sets how many numbers the activation is applied to, which is required.
         *
         * @param hiddenSize the size, 1 or more
         * @return this
         */
        public Builder setHiddenSize(long hiddenSize) {
            this.hiddenSize = hiddenSize;
            return this;
        }

        /**
         * Sets the size of the output.
         *
         * @param outputSize the size; 0, the default, means the size of the input
         * @return this
         */
        public Builder optOutputSize(long outputSize) {
            this.outputSize = outputSize;
            return this;
        }

        /**
         * Sets the activation.
         *
         * @param activation the activation; the default is {@link ActivationKind#RELU}
         * @return this
         */
        public Builder optActivation(ActivationKind activation) {
            this.activation = Objects.requireNonNull(activation, "activation");
            return this;
        }

        /**
         * Sets whether the network is gated, as SwiGLU is with {@link ActivationKind#SILU}.
         *
         * @param gated true: W_1 x is multiplied by activation(W_gate x); false, the default: the activation is that of
         *     W_1 x
         * @return this
         */
        public Builder optGated(boolean gated) {
            this.gated = gated;
            return this;
        }

        /**
         * Sets whether each of the products adds a bias.
         *
         * @param bias true, the default: all do; false: none does
         * @return this
         */
        public Builder optBias(boolean bias) {
            this.bias = bias;
            return this;
        }

        /**
         * Sets the probability that an element of what W_2 reads is dropped when training.
         *
         * @param dropout the probability, from 0 to below 1; the default is 0
         * @return this
         */
        public Builder optDropout(float dropout) {
            this.dropout = dropout;
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if a size or the probability is out of range
         */
        public FeedForward build() {
            return new FeedForward(this, null);
        }
    }
}
