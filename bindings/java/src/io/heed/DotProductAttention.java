// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Scaled dot-product attention (Vaswani et al., "Attention Is All You Need", 2017), with d2l-java's constructor and
 * calls. It has no parameters, and need not be initialized. Scores are divided by the square root of the size of a
 * query (d2l-java's own class divides by the square root of 2: {@code optScale} can do that).
 *
 * <p>forward takes a list of queries (B, Q, D), keys (B, K, D), values (B, K, Dv), of one type of FLOAT32, FLOAT16 and
 * BFLOAT16, or each with an axis of heads behind the first, and, optional or null, the valid lengths (B) or (B, Q) of
 * FLOAT32, INT32 or INT64: a query attends to as many keys from the first. It gives a list of one array (B, Q, Dv), or
 * (B, H, Q, Dv), of the queries' type, which belongs to the queries' manager. Many threads may call it on one block.
 */
public final class DotProductAttention extends AttentionBlock {
    private final AttentionOptions<?> options;

    /**
     * Makes a block that keeps the attention weights of the last forward, as d2l's does.
     *
     * @param dropout the probability, from 0 to below 1, that an attention weight is dropped when training
     * @throws IllegalArgumentException if it is out of range
     */
    public DotProductAttention(float dropout) {
        this(builder().optDropout(dropout), true);
    }

    DotProductAttention(AttentionOptions<?> options, boolean keepWeights) {
        super("DotProductAttention", keepWeights);
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
        return "DotProductAttention(dropout=" + options.dropout + ")";
    }

    @Override
    NativeLayer newLayer(NativeContext context) {
        return NativeLayer.dotProductAttention(
                context,
                options.scale,
                options.softCap,
                options.dropout,
                options.causal.code,
                options.window.code,
                options.windowLeft,
                options.windowRight,
                options.emptyRows.code);
    }

    /** Makes a dot-product attention. */
    public static final class Builder extends AttentionOptions<Builder> {
        private Builder() {}

        /**
         * Makes the block.
         *
         * @return the block
         * @throws IllegalArgumentException if an option is out of range
         */
        public DotProductAttention build() {
            return new DotProductAttention(this, false);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
