// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A Transformer's encoder: a stack of {@link TransformerEncoderBlock}s with equal options, each of which reads the
 * output of the one before (Vaswani et al., "Attention Is All You Need", 2017, section 3.1). As options, embeddings of
 * ids, positions and a norm precede the first layer, and a norm and a projection follow the last.
 *
 * <p>Its {@link #getChildren children} are, in this order and as far as the options have them, "embedding",
 * "token_type_embedding", "positions", "embedding_norm", "embedding_projection", "embedding_dropout", "layers.0",
 * "layers.1" and so on, "norm" and "output"; its parameters have their names before their own, as
 * "layers.0.self_attention.W_q.weight".
 *
 * <p>forward takes and returns the lists of {@link TransformerEncoderBlock}; {@link AttentionInputs} are those of each
 * of the layers. With an embedding x are ids (B, S) of INT32 or INT64, and the output has the type of the table. With
 * token types the list may have them, of the shape of the ids, after the valid lengths. A call needs the memory of one
 * layer and of two arrays of the shape of x. Many threads may call it on one block at the same time; a call that
 * changes the parameters waits for them.
 */
public final class TransformerEncoder extends TransformerBlock {
    private final Builder options;

    /** Makes a block, or with a place the child of another. */
    TransformerEncoder(Builder options, ChildLayer.Place place) {
        super("TransformerEncoder", options.hasTokenTypes() ? InputList.ENCODER_OF_IDS : InputList.ENCODER);
        this.options = options.copy();
        construct(place);
    }

    /**
     * Begins an encoder.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public String toString() {
        return options.describe("TransformerEncoder");
    }

    @Override
    NativeLayer newLayer(NativeContext context) {
        try (NativeStructs structs = new NativeStructs()) {
            return HeedNative.heed_encoder_create(context, options.toNative(structs));
        }
    }

    @Override
    NativeBlock newChild(String name, ChildLayer.Place place) {
        return options.newChild(name, place);
    }

    @Override
    boolean readsIds() {
        return options.hasEmbedding();
    }

    /** Makes an encoder. It copies the builder that it is given. */
    public static final class Builder extends TransformerStackOptions<Builder, TransformerEncoderBlock.Builder> {
        private Builder() {}

        @Override
        NativeBlock newLayer(TransformerEncoderBlock.Builder layer, ChildLayer.Place place) {
            return new TransformerEncoderBlock(layer, place);
        }

        /** The options as C's struct. */
        NativeEncoderOptions toNative(NativeStructs structs) {
            NativeEncoderOptions members = structs.add(new NativeEncoderOptions());
            fill(members, structs);
            return members;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if an option of the block or of a child is missing, out of range, or
         *     contradicts another
         */
        public TransformerEncoder build() {
            return new TransformerEncoder(this, null);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
