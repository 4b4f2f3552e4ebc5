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
public final class Embedding extends SingleInputBlock {
    private final Builder options;

    private Embedding(Builder options) {
        super("Embedding");
        this.options = options.copy();
        construct();
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
    public String toString() {
        return "Embedding(numEmbeddings=" + options.numEmbeddings + ", embeddingSize=" + options.embeddingSize
                + ", paddingIndex=" + options.paddingIndex + ", scale=" + (options.scale == 0 ? 1 : options.scale)
                + ")";
    }

    @Override
    NativeLayer newLayer(NativeContext context) {
        try (NativeEmbeddingOptions members = new NativeEmbeddingOptions()) {
            members.setNumEmbeddings(options.numEmbeddings);
            members.setEmbeddingSize(options.embeddingSize);
            members.setPaddingIndex(options.paddingIndex);
            members.setScale(options.scale);
            return HeedNative.heed_embedding_create(context, members);
        }
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
    public static final class Builder extends CopiedOptions<Builder> {
        private long numEmbeddings;
        private long embeddingSize;
        private long paddingIndex = -1;
        private float scale;

        private Builder() {}

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
         * Sets the size of a row, which is required.
         *
         * @param embeddingSize the size, 1 or more
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
            return new Embedding(this);
        }
    }
}
