// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Additive attention (Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate", 2014),
 * with d2l-java's constructor and calls: a query q and a key k score w_v . tanh(W_q q + W_k k). Its parameters are
 * "W_q.weight" (numHiddens, Eq), "W_k.weight" (numHiddens, Ek) and "w_v.weight" (1, numHiddens).
 *
 * <p>forward takes a list of queries (B, Q, Eq), keys (B, K, Ek) and values (B, K, Ev), all FLOAT32, FLOAT16 or
 * BFLOAT16, and the valid lengths (B) or (B, Q) of FLOAT32, INT32 or INT64, which may be missing or null: with length
 * n, a query attends to the first n keys. It returns a list of one array (B, Q, Ev) of the queries' type, which belongs
 * to the queries' manager. Many threads may call it on one block at the same time; a call that changes the parameters
 * waits for them.
 */
public final class AdditiveAttention extends AttentionBlock {
    private final Builder options;

    /**
     * Makes a block that keeps the attention weights of the last forward, as d2l's does.
     *
     * @param numHiddens the size to which queries and keys are projected
     * @param dropout the probability, from 0 to below 1, that an attention weight is dropped when training
     * @throws IllegalArgumentException if an argument is out of range
     */
    public AdditiveAttention(long numHiddens, float dropout) {
        this(builder().setNumHiddens(numHiddens).optDropout(dropout), true);
    }

    private AdditiveAttention(Builder options, boolean keepWeights) {
        super("AdditiveAttention", keepWeights);
        this.options = options.copy();
        construct();
    }

    /**
     * Begins a block with any of heed's options, which does not keep the attention weights.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public String toString() {
        return options.describe();
    }

    @Override
    NativeLayer newLayer(NativeContext context) {
        try (NativeAdditiveAttentionOptions members = new NativeAdditiveAttentionOptions()) {
            options.fill(members);
            members.setNumHiddens(options.numHiddens);
            return HeedNative.heed_additive_attention_create(context, members);
        }
    }

    /** Makes an additive attention. */
    public static final class Builder extends AttentionOptions<Builder> {
        private long numHiddens;

        private Builder() {}

        @Override
        String describe() {
            return "AdditiveAttention(numHiddens=" + numHiddens + ", dropout=" + dropout + ")";
        }

        /**
         * Sets the size to which queries and keys are projected, which must be set.
         *
         * @param numHiddens the size, 1 or more
         * @return this
         */
        public Builder setNumHiddens(long numHiddens) {
            this.numHiddens = numHiddens;
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if an option is out of range
         */
        public AdditiveAttention build() {
            return new AdditiveAttention(this, false);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
