// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * An embedding: for each id the row of its table, times a scale. Its parameter is "weight" (numEmbeddings,
 * embeddingSize), which {@link #initialize} draws from a normal distribution of variance 1.
 *
 * <p>forward takes a list of one array of ids, INT32 or INT64, of any shape of up to 7 axes, and gives a list of one
 * array of the same shape with one more axis, embeddingSize, of the parameter's type. Many threads may call it on one
 * block at the same time; a call that changes the parameter waits for them.
 */
public final class Embedding extends SingleInputBlock<Embedding.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    Embedding(Builder options, ChildLayer.Place place) {
        super("Embedding", options);
        construct(place);
    }

    /**
     * Begins an embedding.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    DataType typeOfInput(int index, DataType dataType) {
        return DataType.INT32;
    }

    @Override
    boolean inputsTellType() {
        return false;
    }

    /** Makes an embedding. */
    public static final class Builder extends LayerOptions<Builder> {
        private long numEmbeddings;
        private long embeddingSize;
        private long paddingIndex = -1;
        private float scale;

        private Builder() {}

        @Override
        String describe() {
            return "Embedding(numEmbeddings=" + numEmbeddings + ", embeddingSize=" + embeddingSize + ", paddingIndex="
                    + paddingIndex + ", scale=" + (scale == 0 ? 1 : scale) + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_embedding_create(context, toNative(structs));
        }

        /** The options as C's struct. */
        NativeEmbeddingOptions toNative(NativeStructs structs) {
            NativeEmbeddingOptions members = structs.add(new NativeEmbeddingOptions());
            members.setNumEmbeddings(numEmbeddings);
            members.setEmbeddingSize(embeddingSize);
            members.setPaddingIndex(paddingIndex);
            members.setScale(scale);
            return members;
        }

        long numEmbeddings() {
            return numEmbeddings;
        }

        /** The size of a row, which is `size` if none was set. */
        long sizeOr(long size) {
            return embeddingSize == 0 ? size : embeddingSize;
        }

        /**
         * Sets how many rows the table has, which is required.
         *
         * @param numEmbeddings the number, 1 to 2147483647: each id is from 0 to below it
         * @return this
         */
        public Builder setNumEmbeddings(long numEmbeddings) {
            this.numEmbeddings = numEmbeddings;
            return this;
        }

        /**
         * Sets the size of a row, which is required but for the embedding of an encoder, a decoder or a {@link
         * Transformer}.
         *
         * @param embeddingSize the size, 1 or more; of the embedding of another block also 0, the default: that block's
         *     size of rows
         * @return this
         */
        public Builder setEmbeddingSize(long embeddingSize) {
            this.embeddingSize = embeddingSize;
            return this;
        }

        /**
         * Sets the id whose row is 0 after {@link Embedding#initialize}. It is read like any other.
         *
         * @param paddingIndex an id; -1, the default: none
         * @return this
         */
        public Builder optPaddingIndex(long paddingIndex) {
            this.paddingIndex = paddingIndex;
            return this;
        }

        /**
         * Sets the factor of the rows.
         *
         * @param scale the factor; 0, the default, means 1. "Attention Is All You Need" and Gemma have
         *     sqrt(embeddingSize)
         * @return this
         */
        public Builder optScale(float scale) {
            this.scale = scale;
            return this;
        }

        /**
         * Makes the block, without values for its parameter.
         *
         * @return the block
         * @throws IllegalArgumentException if a size or the padding index is out of range, or the scale is not finite
         */
        public Embedding build() {
            return new Embedding(this, null);
        }
    }
}
