// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Attention with the general score of Luong et al. ("Effective Approaches to Attention-based Neural Machine
 * Translation", 2015): a query q and a key k, whose sizes may differ, score q . (W k). Values are not projected. Its
 * parameter is "W.weight" (querySize, Ek).
 *
 * <p>forward takes a list of queries (B, Q, querySize), keys (B, K, Ek) and values (B, K, Ev), all FLOAT32, FLOAT16 or
 * BFLOAT16, and the valid lengths (B) or (B, Q) of FLOAT32, INT32 or INT64, which may be missing or null: with length
 * n, a query attends to the first n keys. It returns a list of one array (B, Q, Ev) of the queries' type, which belongs
 * to the queries' manager. Many threads may call it on one block at the same time; a call that changes the parameter
 * waits for them.
 */
public final class GeneralAttention extends AttentionBlock {
    private final Builder options;

    /**
     * Makes a block that keeps the attention weights of the last forward.
     *
     * @param querySize the size of a query, to which keys are projected
     * @param dropout the probability, from 0 to below 1, that an attention weight is dropped when training
     * @throws IllegalArgumentException if an argument is out of range
     */
    public GeneralAttention(long querySize, float dropout) {
        this(builder().setQuerySize(querySize).optDropout(dropout), true);
    }

    private GeneralAttention(Builder options, boolean keepWeights) {
        super("GeneralAttention", keepWeights);
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
        try (NativeGeneralAttentionOptions members = new NativeGeneralAttentionOptions()) {
            options.fill(members);
            members.setQuerySize(options.querySize);
            return HeedNative.heed_general_attention_create(context, members);
        }
    }

    /** Makes an attention with the general score. */
    public static final class Builder extends AttentionOptions<Builder> {
        private long querySize;

        private Builder() {}

        @Override
        String describe() {
            return "GeneralAttention(querySize=" + querySize + ", dropout=" + dropout + ")";
        }

        /**
         * Sets the size of a query, to which keys are projected. It must be set.
         *
         * @param querySize the size, 1 or more
         * @return this
         */
        public Builder setQuerySize(long querySize) {
            this.querySize = querySize;
            return this;
        }

        /**
         * Makes the block, without a value for its parameter.
         *
         * @return the block
         * @throws IllegalArgumentException if an option is out of range
         */
        public GeneralAttention build() {
            return new GeneralAttention(this, false);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
