// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A Transformer's decoder: a stack of {@link TransformerDecoderBlock}s, each of which reads the output of the one
 * before (Vaswani et al., "Attention Is All You Need", 2017, section 3.1). All layers attend to the same memory. As
 * options, embeddings of ids, positions and a norm precede the first layer, and a norm and a projection to logits follow
 * the last.
 *
 * <p>Its {@link #getChildren children} are those of a {@link TransformerEncoder} without "patches" and "audio"; its
 * parameters have their names before their own, as "layers.0.cross_attention.W_q.weight".
 *
 * <p>forward takes and returns the lists of {@link TransformerDecoderBlock}; {@link AttentionInputs} are those of each
 * of the layers. With an embedding x are ids (B, T) of INT32 or INT64, and the output has the type of the table. With a
 * cache, layer n uses the cache's layer cacheLayer + n; {@link KvCache.Builder#setBlock} makes a cache that fits. A
 * call needs the memory of one layer and of two arrays of the shape of x. Many threads may call it on one block at the
 * same time; a call that changes the parameters waits for them.
 */
public final class TransformerDecoder extends TransformerBlock<TransformerDecoder.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    TransformerDecoder(Builder options, ChildLayer.Place place) {
        super("TransformerDecoder", options, InputList.DECODER);
        construct(place);
    }

    /**
     * Begins a decoder.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Projects the keys and values of the encoder's output and appends them to the inputs' cache, layer n to the
     * cache's layer cacheLayer + n, so that later calls attend to them with {@link AttentionInputs#setMemoryCache} and
     * do not project them again.
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
        return options.newChild(name, place);
    }

    @Override
    boolean readsIds() {
        return options.hasEmbedding();
    }

    /** Makes a decoder. It copies the builder that it is given. */
    public static final class Builder extends TransformerStackOptions<Builder, TransformerDecoderBlock.Builder> {
        private Builder() {}

        @Override
        NativeBlock newBlockOf(TransformerDecoderBlock.Builder layer, ChildLayer.Place place) {
            return new TransformerDecoderBlock(layer, place);
        }

        @Override
        String describe() {
            return describe("TransformerDecoder");
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_decoder_create(context, toNative(structs));
        }

        /** The options as C's struct. */
        NativeDecoderOptions toNative(NativeStructs structs) {
            NativeDecoderOptions members = structs.add(new NativeDecoderOptions());
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
        public TransformerDecoder build() {
            return new TransformerDecoder(this, null);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
