// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * A layer of a Transformer's decoder (Vaswani et al., "Attention Is All You Need", 2017, section 3.1). With A the
 * self-attention, C(x) the cross attention of x to the memory, which is the encoder's output, and F the feed-forward
 * network:
 *
 * <pre>
 * normFirst false   h = norm_1(x + dropout_1(A(x)))    g = norm_2(h + dropout_2(C(h)))
 *                   output = norm_3(g + dropout_3(F(g)))
 * normFirst true    h = x + dropout_1(A(norm_1(x)))    g = h + dropout_2(C(norm_2(h)))
 *                   output = g + dropout_3(F(norm_3(g)))
 * </pre>
 *
 * Without cross attention, as in GPT, the second step, norm_3 and dropout_3 are left out, and F has norm_2 and
 * dropout_2. outputNorms, noFirstNorm and residualScale are those of a {@link TransformerEncoderBlock}. Which rows are
 * hidden is an option of the attentions, as {@code optCausal} of the self-attention, and an
 * input.
 *
 * <p>Its {@link #getChildren children} are "self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2",
 * "norm_3", "dropout_1", "dropout_2" and "dropout_3"; its parameters have their names before their own, as
 * "self_attention.W_q.weight".
 *
 * <p>forward takes a list of x (B, T, E) of FLOAT32, FLOAT16 or BFLOAT16, where E is the self-attention's numHiddens;
 * with cross attention also the memory (B, S, size of the memory) of the same type and the memory's valid lengths (B)
 * or (B, T) of FLOAT32, INT32 or INT64, which may be missing or null: with length n, a row attends to the first n rows
 * of the memory. It returns a list of one array of the shape and type of x.
 *
 * <p>{@link AttentionInputs} has x as queries and the memory as keys; validLens, mask and bias are those of the cross
 * attention, selfValidLens, selfMask and selfBias those of the self-attention. Its cache is the self-attention's: calls
 * append rows to sequences, and attend to them.
 *
 * <p>Many threads may call it on one block at the same time; a call that changes the parameters waits for them.
 */
public final class TransformerDecoderBlock extends TransformerBlock<TransformerDecoderBlock.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    TransformerDecoderBlock(Builder options, ChildLayer.Place place) {
        super("TransformerDecoderBlock", options, InputList.DECODER);
        construct(place);
    }

    /**
     * Begins a decoder layer.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Projects the keys and values of the encoder's output and appends them to the inputs' cache, so that later
     * calls attend to them with {@link AttentionInputs#setMemoryCache} and do not project them again.
     *
     * @param inputs the encoder's output (B, S, E) as keys, and a cache; queryLens (B) says how many rows of each
     *     element are appended. Other inputs are null
     * @param workspace scratch memory for this call alone, of {@link #workspaceSize} bytes for these inputs and outputs
     *     that are not set; null: heed uses memory of its own
     * @throws IllegalArgumentException if sizes, types or lengths do not fit, or the cache is missing, of another
     *     device, of other sizes, or has rows with other rotary positions
     * @throws CacheFullException if the cache has no room for the rows; it is as it was
     * @throws IllegalStateException if the block is not initialized, the workspace or the cache is in use, or an array,
     *     the workspace, the cache or the block is closed
     * @throws UnsupportedOperationException if the block has no cross attention
     * @throws HeedException with {@link Status#WORKSPACE_TOO_SMALL}; the message has both sizes
     */
    public void fillCache(AttentionInputs inputs, Workspace workspace) {
        appendToCache(inputs, workspace);
    }

    @Override
    NativeBlock newChild(String name, ChildLayer.Place place) {
        switch (name) {
            case "self_attention":
                return new MultiHeadAttention(options.selfAttention, false, place);
            case "cross_attention":
                return new MultiHeadAttention(options.crossAttention, false, place);
            default:
                return options.newChild(name, place);
        }
    }

    /** Makes a decoder layer. It copies the builders that it is given. */
    public static final class Builder extends TransformerBlockOptions<Builder> {
        private MultiHeadAttention.Builder selfAttention;
        private MultiHeadAttention.Builder crossAttention;

        private Builder() {}

        @Override
        String describe() {
            return "TransformerDecoderBlock(selfAttention=" + textOf(selfAttention) + ", crossAttention="
                    + textOf(crossAttention) + ", " + describeCommon() + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_decoder_layer_create(context, toNative(structs));
        }

        @Override
        long numHiddens() {
            return selfAttention.numHiddens();
        }

        @Override
        NativeDecoderLayerOptions toNative(NativeStructs structs) {
            NativeDecoderLayerOptions members = structs.add(new NativeDecoderLayerOptions());
            members.setSelfAttention(
                    NativeStruct.pointerOf(selfAttention == null ? null : selfAttention.toNative(structs)));
            members.setCrossAttention(
                    NativeStruct.pointerOf(crossAttention == null ? null : crossAttention.toNative(structs)));
            fill(members, structs);
            return members;
        }

        /**
         * Sets the self-attention, which is required.
         *
         * @param selfAttention its options, with numHiddens; outputSize may only be the same, and the output must be
         *     projected. It is only causal if {@code optCausal} says so
         * @return this
         */
        public Builder setSelfAttention(MultiHeadAttention.Builder selfAttention) {
            this.selfAttention = Objects.requireNonNull(selfAttention, "selfAttention").copy();
            return this;
        }

        /**
         * Sets the cross attention, to the encoder's output.
         *
         * @param crossAttention its options, with the numHiddens of the self-attention; null, the default: a decoder
         *     without an encoder
         * @return this
         */
        public Builder optCrossAttention(MultiHeadAttention.Builder crossAttention) {
            this.crossAttention = crossAttention == null ? null : crossAttention.copy();
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if an option of the block or of a child is missing, out of range, or
         *     contradicts another
         */
        public TransformerDecoderBlock build() {
            return new TransformerDecoderBlock(this, null);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
