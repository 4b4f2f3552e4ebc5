// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A Transformer's encoder: a stack of {@link TransformerEncoderBlock}s with equal options, each of which reads the
 * output of the one before, and, as an option, a norm after the last (Vaswani et al., "Attention Is All You Need",
 * 2017, section 3.1).
 *
 * <p>Its {@link #getChildren children} are "layers.0", "layers.1" and so on, and "norm" if there is a final norm; its
 * parameters have their names before their own, as "layers.0.self_attention.W_q.weight".
 *
 * <p>forward takes and returns the lists of {@link TransformerEncoderBlock}; {@link AttentionInputs} are those of each
 * of the layers. A call needs the memory of one layer and of two arrays of the shape of x. Many threads may call it on
 * one block at the same time; a call that changes the parameters waits for them.
 */
public final class TransformerEncoder extends TransformerBlock {
    private final Builder options;

    private TransformerEncoder(Builder options) {
        super("TransformerEncoder", false);
        this.options = options.copy();
        construct();
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
        try (NativeStructs structs = new NativeStructs();
                NativeEncoderOptions members = new NativeEncoderOptions()) {
            options.fill(members, structs);
            return HeedNative.heed_encoder_create(context, members);
        }
    }

    @Override
    NativeBlock newChild(String name, ChildLayer.Place place) {
        return name.equals("norm") ? options.layer.newNorm(place) : new TransformerEncoderBlock(options.layer, place);
    }

    /** Makes an encoder. It copies the builder that it is given. */
    public static final class Builder extends TransformerStackOptions<Builder, TransformerEncoderBlock.Builder> {
        private Builder() {}

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if an option of the block or of a child is missing, out of range, or
         *     contradicts another
         */
        public TransformerEncoder build() {
            return new TransformerEncoder(this);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
