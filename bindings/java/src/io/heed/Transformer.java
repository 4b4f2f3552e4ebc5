// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * A Transformer (Vaswani et al., "Attention Is All You Need", 2017, section 3): an encoder, and a decoder that attends
 * to its output. Its {@link #getChildren children} are "embedding" and "decoder_embedding", which are the same, if it
 * has an embedding for both, "encoder", "decoder" and, with an output, "output"; its parameters have their names before
 * their own, as "decoder.layers.0.cross_attention.W_q.weight".
 *
 * <p>forward takes a list of what the decoder reads, (B, T), what the encoder reads, (B, S), and the valid lengths (B)
 * of the latter, of FLOAT32, INT32 or INT64, which may be missing or null: with length n, both attend to the first n of
 * them. With an embedding these are ids of INT32 or INT64, without one rows of FLOAT32, FLOAT16 or BFLOAT16. It returns
 * a list of one array, the decoder's output (B, T, E), or (B, T, size) with an output.
 *
 * <p>{@link AttentionInputs} has what the decoder reads as queries and what the encoder reads as keys; validLens and
 * mask (B, 1, 1, S) are those of the keys, selfValidLens, selfMask and selfBias those of the decoder's self-attention,
 * whose cache it also is. Without queries the encoder alone is computed, and the output is its output. With {@link
 * AttentionInputs#setMemory} or {@link AttentionInputs#setMemoryCache}, and without keys, the decoder alone is
 * computed.
 *
 * <p>Many threads may call it on one block at the same time; a call that changes the parameters waits for them.
 */
public final class Transformer extends TransformerBlock<Transformer.Builder> {
    private Transformer(Builder options) {
        super("Transformer", options, InputList.TRANSFORMER);
        construct();
    }

    /**
     * Begins a Transformer.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Computes the encoder's output, projects its keys and values for the decoder and appends them to the inputs'
     * cache, layer n to the cache's layer cacheLayer + n, so that steps of the decoder attend to them with {@link
     * AttentionInputs#setMemoryCache} and compute them only once.
     *
     * @param inputs what the encoder reads as keys, (B, S), or its output as memory, and a cache; with validLens (B)
     *     the padding of each element is not appended. queries are null
     * @param workspace scratch memory for this call alone, of {@link #workspaceSize} bytes for these inputs and outputs
     *     that are not set; null: heed uses memory of its own
     * @throws IllegalArgumentException if sizes, types or lengths do not fit, or the cache is missing, of another
     *     device, of other sizes, or has rows with other rotary positions
     * @throws CacheFullException if the cache has no room for the rows; it is as it was
     * @throws IllegalStateException if the block is not initialized, the workspace or the cache is in use, or an array,
     *     the workspace, the cache or the block is closed
     * @throws HeedException with {@link Status#WORKSPACE_TOO_SMALL}; the message has both sizes
     */
    public void fillCache(AttentionInputs inputs, Workspace workspace) {
        appendToCache(inputs, workspace);
    }

    @Override
    boolean readsIds() {
        return options.embedding != null || options.decoder.hasEmbedding();
    }

    @Override
    boolean readsIdsAsKeys() {
        return options.embedding != null || options.encoder.hasEmbedding();
    }

    @Override
    NativeBlock newChild(String name, ChildLayer.Place place) {
        switch (name) {
            case "encoder":
                return new TransformerEncoder(options.encoder, place);
            case "decoder":
                return new TransformerDecoder(options.decoder, place);
            case "output":
                return options.output.newChild(options.embedding, place);
            default:
                long size = options.embedding.sizeOr(options.decoder.numHiddens());
                return new Embedding(options.embedding.copy().setEmbeddingSize(size), place);
        }
    }

    /** Makes a Transformer. It copies the builders that it is given. */
    public static final class Builder extends LayerOptions<Builder> {
        private TransformerEncoder.Builder encoder;
        private TransformerDecoder.Builder decoder;
        private Embedding.Builder embedding;
        private OutputOptions output;

        private Builder() {}

        @Override
        String describe() {
            return "Transformer(encoder=" + textOf(encoder) + ", decoder=" + textOf(decoder)
                    + (embedding == null ? "" : ", embedding=" + embedding.describe())
                    + (output == null ? "" : ", output=" + output.describe()) + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_transformer_create(context, toNative(structs));
        }

        /** The options as C's struct. */
        NativeTransformerOptions toNative(NativeStructs structs) {
            NativeTransformerOptions members = structs.add(new NativeTransformerOptions());
            members.setEncoder(NativeStruct.pointerOf(encoder == null ? null : encoder.toNative(structs)));
            members.setDecoder(NativeStruct.pointerOf(decoder == null ? null : decoder.toNative(structs)));
            members.setEmbedding(NativeStruct.pointerOf(embedding == null ? null : embedding.toNative(structs)));
            members.setOutput(NativeStruct.pointerOf(output == null ? null : output.toNative(structs)));
            return members;
        }

        /**
         * Sets the encoder, which is required.
         *
         * @param encoder its options, without an output
         * @return this
         */
        public Builder setEncoder(TransformerEncoder.Builder encoder) {
            this.encoder = Objects.requireNonNull(encoder, "encoder").copy();
            return this;
        }

        /**
         * Sets the decoder, which is required.
         *
         * @param decoder its options, with cross attention
         * @return this
         */
        public Builder setDecoder(TransformerDecoder.Builder decoder) {
            this.decoder = Objects.requireNonNull(decoder, "decoder").copy();
            return this;
        }

        /**
         * Sets the embedding of the ids of both, which then have none of their own.
         *
         * @param embedding its options; embeddingSize may be left out; null, the default: the encoder and the decoder
         *     have their own, or read rows
         * @return this
         */
        public Builder optEmbedding(Embedding.Builder embedding) {
            this.embedding = embedding == null ? null : embedding.copy();
            return this;
        }

        /**
         * Sets the projection of the decoder's last rows, for example to logits.
         *
         * @param output its options; null, the default: the output are the rows, or the decoder has an output itself
         * @return this
         */
        public Builder optOutput(OutputOptions output) {
            this.output = output;
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if an option of the block or of a child is missing, out of range, or
         *     contradicts another
         */
        public Transformer build() {
            return new Transformer(this);
        }
    }
}
