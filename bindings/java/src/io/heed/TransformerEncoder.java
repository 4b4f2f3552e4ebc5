// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A Transformer's encoder: a stack of {@link TransformerEncoderBlock}s, each of which reads the output of the one
 * before (Vaswani et al., "Attention Is All You Need", 2017, section 3.1). As options, embeddings of ids, patches or
 * audio, positions and a norm precede the first layer, and a norm and a projection follow the last.
 *
 * <p>Its {@link #getChildren children} are, in this order and as far as the options have them, "embedding",
 * "patches", "audio", "token_type_embedding", "positions", "embedding_norm", "embedding_projection",
 * "embedding_dropout", "layers.0", "layers.1" and so on, "norm" and "output"; its parameters have their names before
 * their own, as "layers.0.self_attention.W_q.weight".
 *
 * <p>forward takes and returns the lists of {@link TransformerEncoderBlock}; {@link AttentionInputs} are those of each
 * of the layers. With an embedding x are ids (B, S) of INT32 or INT64, and the output has the type of the table. With
 * token types the list may have them, of the shape of the ids, after the valid lengths. With patches x are images (B, C,
 * H, W), with audio features (B, numMels, T). A call needs the memory of one layer and of two arrays of the shape of its
 * rows. Many threads may call it on one block at the same time; a call that changes the parameters waits for them.
 */
public final class TransformerEncoder extends TransformerBlock<TransformerEncoder.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    TransformerEncoder(Builder options, ChildLayer.Place place) {
        super("TransformerEncoder", options, options.hasTokenTypes() ? InputList.ENCODER_OF_IDS : InputList.ENCODER);
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
    NativeBlock newChild(String name, ChildLayer.Place place) {
        switch (name) {
            case "patches":
                return new PatchEmbedding(options.patches.copy().setNumHiddens(options.numHiddens()), place);
            case "audio":
                return new AudioEmbedding(options.audio.copy().setNumHiddens(options.numHiddens()), place);
            default:
                return options.newChild(name, place);
        }
    }

    @Override
    boolean readsIds() {
        return options.hasEmbedding();
    }

    /** Makes an encoder. It copies the builder that it is given. */
    public static final class Builder extends TransformerStackOptions<Builder, TransformerEncoderBlock.Builder> {
        private PatchEmbedding.Builder patches;
        private AudioEmbedding.Builder audio;

        private Builder() {}

        @Override
        NativeBlock newBlockOf(TransformerEncoderBlock.Builder layer, ChildLayer.Place place) {
            return new TransformerEncoderBlock(layer, place);
        }

        @Override
        String describe() {
            return describe("TransformerEncoder");
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_encoder_create(context, toNative(structs));
        }

        /** The options as C's struct. */
        NativeEncoderOptions toNative(NativeStructs structs) {
            NativeEncoderOptions members = structs.add(new NativeEncoderOptions());
            fill(members, structs);
            members.setPatches(NativeStruct.pointerOf(patches == null ? null : patches.toNative(structs)));
            members.setAudio(NativeStruct.pointerOf(audio == null ? null : audio.toNative(structs)));
            return members;
        }

        @Override
        String describeFirst() {
            return (patches == null ? "" : ", patches=" + patches.describe())
                    + (audio == null ? "" : ", audio=" + audio.describe());
        }

        /**
         * Sets the embedding of patches, with which forward reads images (B, C, H, W) in place of rows (ViT). Lengths,
         * masks and positions count the rows of its output.
         *
         * @param patches its options; numHiddens may be left out; null, the default: forward reads no images. Not
         *     together with an embedding or audio
         * @return this
         */
        public Builder optPatches(PatchEmbedding.Builder patches) {
            this.patches = patches == null ? null : patches.copy();
            return this;
        }

        /**
         * Sets the embedding of audio, with which forward reads features (B, numMels, T) in place of rows (Whisper).
         * Lengths, masks and positions count the rows of its output.
         *
         * @param audio its options; numHiddens may be left out; null, the default: forward reads no features. Not
         *     together with an embedding or patches
         * @return this
         */
        public Builder optAudio(AudioEmbedding.Builder audio) {
            this.audio = audio == null ? null : audio.copy();
            return this;
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
