// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * Multi-head attention (Vaswani et al., "Attention Is All You Need", 2017), with d2l-java's constructor and calls, or
 * with any of heed's options by {@link #builder}.
 *
 * <p>Its parameters are "W_q.weight" (numHeads * headSize, size of a query), "W_k.weight" (numKvHeads * headSize, size
 * of a key), "W_v.weight" (numKvHeads * valueHeadSize, size of a value), "W_o.weight" (outputSize, numHeads *
 * valueHeadSize), and "W_q.bias" and so on; with d2l's constructor all are of numHiddens rows. Scores are divided by
 * the square root of headSize (the class in d2l-java's utils/attention divides by the square root of 2: {@code
 * optScale} can do that).
 *
 * <p>forward takes a list of queries (B, Q, E), keys (B, K, E), values (B, K, E), of one type of FLOAT32, FLOAT16 and
 * BFLOAT16, and, optional or null, the valid lengths (B) or (B, Q) of FLOAT32, INT32 or INT64: a query attends to as
 * many keys from the first. It gives a list of one array (B, Q, outputSize) of the queries' type, which belongs to the
 * queries' manager.
 *
 * <p>Many threads may call it on one block; a call that changes its parameters waits for them.
 */
public final class MultiHeadAttention extends NativeBlock {
    /**
     * Holds the attention weights of the last forward, of shape (B * H, Q, K). By itself it is dot-product attention
     * with this block's options, without its projections, and whatever its scoring.
     */
    public final DotProductAttention attention;

    private final Builder options;

    /**
     * Makes a block without values for its parameters, which keeps the attention weights of the last forward in {@link
     * #attention}, as d2l's does.
     *
     * @param numHiddens the size of the output, a multiple of numHeads
     * @param numHeads the number of heads H
     * @param dropout the probability, from 0 to below 1, that an attention weight is dropped when training
     * @param useBias whether the four projections add a bias
     * @throws IllegalArgumentException if an argument is out of range, or numHiddens is not a multiple of numHeads
     */
    public MultiHeadAttention(long numHiddens, long numHeads, float dropout, boolean useBias) {
        this(builder().setNumHiddens(numHiddens).setNumHeads(numHeads).optDropout(dropout).optBias(useBias), true);
    }

    private MultiHeadAttention(Builder options, boolean keepWeights) {
        super("MultiHeadAttention");
        this.options = options.copy();
        construct();
        attention = new DotProductAttention(options, keepWeights);
    }

    /**
     * Begins a block with any of heed's options, which does not keep the attention weights.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Sets whether each forward of a list computes and keeps the attention weights, which take B * H * Q * K elements.
     * The result is the same. Those of the last forward are closed when they are no longer kept.
     *
     * @param keep true, as it is from the beginning in a block that was made by the constructor, to keep them in {@link
     *     #attention}
     */
    public void setKeepAttentionWeights(boolean keep) {
        attention.setKeepAttentionWeights(keep);
    }

    /**
     * Tells whether each forward of a list keeps the attention weights.
     *
     * @return what was set last
     */
    public boolean isKeepAttentionWeights() {
        return attention.isKeepAttentionWeights();
    }

    @Override
    public void close() {
        super.close();
        attention.close();
    }

    @Override
    public String toString() {
        Set<Bias> biases = options.biases;
        String bias = biases.isEmpty() || biases.size() == Bias.values().length
                ? "useBias=" + !biases.isEmpty()
                : "biases=" + biases;
        return "MultiHeadAttention(numHiddens=" + options.numHiddens + ", numHeads=" + options.numHeads + ", " + bias
                + ", dropout=" + options.dropout + ")";
    }

    @Override
    NativeLayer newLayer(NativeContext context) {
        try (NativeMultiHeadAttentionOptions members = new NativeMultiHeadAttentionOptions()) {
            options.fill(members);
            members.setNumHiddens(options.numHiddens);
            members.setNumHeads(options.numHeads);
            members.setNumKvHeads(options.numKvHeads);
            members.setHeadSize(options.headSize);
            members.setValueHeadSize(options.valueHeadSize);
            members.setOutputSize(options.outputSize);
            members.setNoOutputProjection(options.outputProjection ? 0 : 1);
            members.setBiases(options.biases.stream().mapToInt(bias -> bias.bit).sum());
            members.setScoring(options.scoring.code);
            return HeedNative.heed_multi_head_attention_create(context, members);
        }
    }

    @Override
    boolean keepsWeights() {
        return attention.keepsWeights();
    }

    /** Kept as a view (B * H, Q, K) of weights (B, H, Q, K). */
    @Override
    void keepWeights(NDManager manager, NativeTensor weights) {
        if (weights == null) {
            attention.keep(null);
            return;
        }
        long[] dims = {weights.dim(0) * weights.dim(1), weights.dim(2), weights.dim(3)};
        attention.keepWeights(manager, weights.reshape(dims));
        weights.close();
    }

    /** Makes a multi-head attention. Sizes that are not set, or are 0, follow from the others. */
    public static final class Builder extends AttentionOptions<Builder> {
        private long numHiddens;
        private long numHeads;
        private long numKvHeads;
        private long headSize;
        private long valueHeadSize;
        private long outputSize;
        private boolean outputProjection = true;
        private Set<Bias> biases = EnumSet.noneOf(Bias.class);
        private Scoring scoring = Scoring.DOT_PRODUCT;

        private Builder() {}

        /**
         * Sets the hidden size, which must be set unless headSize and, with a projection of the output, outputSize are.
         *
         * @param numHiddens the size
         * @return this
         */
        public Builder setNumHiddens(long numHiddens) {
            this.numHiddens = numHiddens;
            return this;
        }

        /**
         * Sets the number of heads of the queries, which must be set.
         *
         * @param numHeads the number H, 1 or more
         * @return this
         */
        public Builder setNumHeads(long numHeads) {
            this.numHeads = numHeads;
            return this;
        }

        /**
         * Sets the number of heads of keys and values. Query head h uses key head h / (numHeads / numKvHeads).
         *
         * @param numKvHeads a divisor of numHeads; 0, the default: numHeads
         * @return this
         */
        public Builder optNumKvHeads(long numKvHeads) {
            this.numKvHeads = numKvHeads;
            return this;
        }

        /**
         * Sets the size of a head's queries and keys.
         *
         * @param headSize the size; 0, the default: numHiddens / numHeads, which must come out even
         * @return this
         */
        public Builder optHeadSize(long headSize) {
            this.headSize = headSize;
            return this;
        }

        /**
         * Sets the size of a head's values.
         *
         * @param valueHeadSize the size; 0, the default: headSize
         * @return this
         */
        public Builder optValueHeadSize(long valueHeadSize) {
            this.valueHeadSize = valueHeadSize;
            return this;
        }

        /**
         * Sets the size of the output.
         *
         * @param outputSize the size; 0, the default: numHiddens
         * @return this
         */
        public Builder optOutputSize(long outputSize) {
            this.outputSize = outputSize;
            return this;
        }

        /**
         * Sets whether the output is projected by W_o.
         *
         * @param outputProjection true, the default; false: the output is (B, Q, numHeads * valueHeadSize), and neither
         *     outputSize nor Bias.O may be set
         * @return this
         */
        public Builder optOutputProjection(boolean outputProjection) {
            this.outputProjection = outputProjection;
            return this;
        }

        /**
         * Sets whether all four projections add a bias.
         *
         * @param bias false, the default: none does
         * @return this
         */
        public Builder optBias(boolean bias) {
            return optBiases(bias ? Bias.values() : new Bias[0]);
        }

        /**
         * Sets which projections add a bias, and that the others do not.
         *
         * @param biases those that do
         * @return this
         */
        public Builder optBiases(Bias... biases) {
            Set<Bias> wanted = EnumSet.noneOf(Bias.class);
            for (Bias bias : Objects.requireNonNull(biases, "biases")) {
                wanted.add(Objects.requireNonNull(bias, "biases"));
            }
            this.biases = wanted;
            return this;
        }

        /**
         * Sets how a key is scored for a query.
         *
         * @param scoring {@link Scoring#DOT_PRODUCT} is the default; {@link Scoring#ADDITIVE} adds a parameter
         *     "w_v.weight" (numHeads, headSize), and usually wants a scale of 1
         * @return this
         */
        public Builder optScoring(Scoring scoring) {
            this.scoring = Objects.requireNonNull(scoring, "scoring");
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if an option is out of range, or contradicts another
         */
        public MultiHeadAttention build() {
            return new MultiHeadAttention(this, false);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
