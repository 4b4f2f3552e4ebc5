// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * The last projection of an encoder, a decoder or a {@link Transformer}, for example to logits: cap(scale (W x + b)),
 * with cap(z) = softCap tanh(z / softCap), or z without softCap. It is the child "output", a linear layer, with the
 * parameters "output.weight" (size, E), unless it is tied, and with bias "output.bias" (size). Immutable; made by
 * {@link #builder()}.
 */
public final class OutputOptions {
    private final long size;
    private final boolean tied;
    private final boolean bias;
    private final float scale;
    private final float softCap;

    private OutputOptions(Builder builder) {
        size = builder.size;
        tied = builder.tied;
        bias = builder.bias;
        scale = builder.scale;
        softCap = builder.softCap;
    }

    /**
     * Returns a builder with the default options.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns the size of the output.
     *
     * @return the size; 0: the number of embeddings
     */
    public long getSize() {
        return size;
    }

    /**
     * Tells whether the table of the embedding projects the output.
     *
     * @return false by default
     */
    public boolean isTied() {
        return tied;
    }

    /**
     * Tells whether a bias is added.
     *
     * @return false by default
     */
    public boolean isBias() {
        return bias;
    }

    /**
     * Returns the factor of the output.
     *
     * @return the factor; 0, the default, means 1
     */
    public float getScale() {
        return scale;
    }

    /**
     * Returns the cap that the output approaches.
     *
     * @return the cap; 0, the default, means no cap
     */
    public float getSoftCap() {
        return softCap;
    }

    /** The text of these options. */
    String describe() {
        return "OutputOptions(size=" + size + ", tied=" + tied + ", bias=" + bias + ", scale="
                + (scale == 0 ? 1 : scale) + ", softCap=" + softCap + ")";
    }

    /** The options as C's struct. */
    NativeOutputOptions toNative(NativeStructs structs) {
        NativeOutputOptions members = structs.add(new NativeOutputOptions());
        members.setSize(size);
        members.setTied(tied ? 1 : 0);
        members.setBias(bias ? 1 : 0);
        members.setScale(scale);
        members.setSoftCap(softCap);
        return members;
    }

    /** The child with these options, which may be tied to an embedding; null: there is none. */
    Linear newChild(Embedding.Builder embedding, ChildLayer.Place place) {
        long units = size == 0 && embedding != null ? embedding.numEmbeddings() : size;
        return new Linear(Linear.builder().setUnits(units).optBias(bias), place);
    }

    /** Makes options of an output. The block that has them checks them. */
    public static final class Builder {
        private long size;
        private boolean tied;
        private boolean bias;
        private float scale;
        private float softCap;

        private Builder() {}

        @Override
        public String toString() {
            return build().describe().replaceFirst("[(]", ".Builder(");
        }

        /**
         * Sets the size of the output, which is required unless it is tied.
         *
         * @param size the size, 1 or more; with tied 0, the default, or the number of embeddings
         * @return this
         */
        public Builder setSize(long size) {
            this.size = size;
            return this;
        }

        /**
         * Sets whether the table of the embedding projects the output (Press and Wolf, "Using the Output Embedding to
         * Improve Language Models", 2017).
         *
         * @param tied true: W is the table, which is not copied; false, the default: W is a parameter of its own
         * @return this
         */
        public Builder optTied(boolean tied) {
            this.tied = tied;
            return this;
        }

        /**
         * Sets whether a bias is added.
         *
         * @param bias true: one is; false is the default
         * @return this
         */
        public Builder optBias(boolean bias) {
            this.bias = bias;
            return this;
        }

        /**
         * Sets the factor of the output.
         *
         * @param scale the factor, such as 1 / sqrt(E) for T5; 0, the default, means 1
         * @return this
         */
        public Builder optScale(float scale) {
            this.scale = scale;
            return this;
        }

        /**
         * Sets the cap that the output approaches: softCap * tanh(output / softCap).
         *
         * @param softCap the cap, such as the final_logit_softcapping of Gemma 2; 0, the default, means no cap
         * @return this
         */
        public Builder optSoftCap(float softCap) {
            this.softCap = softCap;
            return this;
        }

        /**
         * Makes the options.
         *
         * @return the options
         */
        public OutputOptions build() {
            return new OutputOptions(this);
        }
    }
}
