// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * A layer of a Transformer's encoder (Vaswani et al., "Attention Is All You Need", 2017, section 3.1). With A the
 * self-attention and F the feed-forward network:
 *
 * <pre>
 * normFirst false   h = norm_1(x + dropout_1(A(x)))    output = norm_2(h + dropout_2(F(h)))
 * normFirst true    h = x + dropout_1(A(norm_1(x)))    output = h + dropout_2(F(norm_2(h)))
 * </pre>
 *
 * (Xiong et al., "On Layer Normalization in the Transformer Architecture", 2020, compare them.) With outputNorms A(...)
 * and F(...) pass output_norm_1 and output_norm_2 before the dropout, with noFirstNorm there is no norm_1, and with
 * residualScale they are multiplied by it.
 *
 * <p>Its {@link #getChildren children} are "self_attention", "feed_forward", "norm_1", "norm_2", "dropout_1" and
 * "dropout_2"; its parameters have their names before their own, as "self_attention.W_q.weight".
 *
 * <p>forward takes a list of x (B, S, E) of FLOAT32, FLOAT16 or BFLOAT16, where E is the attention's numHiddens, and
 * the valid lengths (B) or (B, S) of FLOAT32, INT32 or INT64, which may be missing or null: with length n, a row
 * attends to the first n rows. It returns a list of one array of the shape and type of x. {@link AttentionInputs} also
 * has masks, biases, positions and packed batches (total, E).
 *
 * <p>Many threads may call it on one block at the same time; a call that changes the parameters waits for them.
 */
public final class TransformerEncoderBlock extends TransformerBlock<TransformerEncoderBlock.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    TransformerEncoderBlock(Builder options, ChildLayer.Place place) {
        super("TransformerEncoderBlock", options, InputList.ENCODER);
        construct(place);
    }

    /**
     * Begins an encoder layer.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    NativeBlock newChild(String name, ChildLayer.Place place) {
        return name.equals("self_attention")
                ? new MultiHeadAttention(options.attention, false, place)
                : options.newChild(name, place);
    }

    /** Makes an encoder layer. It copies the builders that it is given. */
    public static final class Builder extends TransformerBlockOptions<Builder> {
        private MultiHeadAttention.Builder attention;

        private Builder() {}

        @Override
        String describe() {
            return "TransformerEncoderBlock(attention=" + textOf(attention) + ", " + describeCommon() + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_encoder_layer_create(context, toNative(structs));
        }

        @Override
        long numHiddens() {
            return attention.numHiddens();
        }

        @Override
        NativeEncoderLayerOptions toNative(NativeStructs structs) {
            NativeEncoderLayerOptions members = structs.add(new NativeEncoderLayerOptions());
            members.setAttention(NativeStruct.pointerOf(attention == null ? null : attention.toNative(structs)));
            fill(members, structs);
            return members;
        }

        /**
         * Sets the self-attention, which is required.
         *
         * @param attention its options, with numHiddens; outputSize may only be the same, and the output must be
         *     projected
         * @return this
         */
        public Builder setAttention(MultiHeadAttention.Builder attention) {
            this.attention = Objects.requireNonNull(attention, "attention").copy();
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if an option of the block or of a child is missing, out of range, or
         *     contradicts another
         */
        public TransformerEncoderBlock build() {
            return new TransformerEncoderBlock(this, null);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
