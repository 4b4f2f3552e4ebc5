// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * Multi-head attention (Vaswani et al., "Attention Is All You Need", 2017), with d2l-java's constructor and calls, or
 * with any of heed's options through {@link #builder}.
 *
 * <p>Its parameters are "W_q.weight" (numHeads * headSize, size of a query), "W_k.weight" (numKvHeads * headSize, size
 * of a key), "W_v.weight" (numKvHeads * valueHeadSize, size of a value), "W_o.weight" (outputSize, numHeads *
 * valueHeadSize), and "W_q.bias" and so on; options add "q_norm.weight", "k_norm.weight", "sinks" (numHeads),
 * "relative_bias.weight" (relativeBiasBuckets, numHeads), "bias_k" and "bias_v". With d2l's constructor the first four
 * have numHiddens rows. Scores are divided by the square root of headSize (the class in d2l-java's utils/attention
 * divides by the square root of 2; {@code optScale} can do that).
 *
 * <p>forward takes a list of queries (B, Q, E), keys (B, K, E) and values (B, K, E), all FLOAT32, FLOAT16 or BFLOAT16,
 * and the valid lengths (B) or (B, Q) of FLOAT32, INT32 or INT64, which may be missing or null: with length n, a query
 * attends to the first n keys. It returns a list of one array (B, Q, outputSize) of the queries' type, which belongs to
 * the queries' manager.
 *
 * <p>With a {@link KvCache}, calls append rows to sequences and attend to them.
 *
 * <p>Many threads may call it on one block at the same time; a call that changes the parameters waits for them.
 */
public final class MultiHeadAttention extends NativeBlock {
    /**
     * Has the attention weights of the last forward, of shape (B * H, Q, K). A direct call of it computes dot-product
     * attention with those of this block's options that DotProductAttention has, without the projections, even if
     * this block's scoring is additive.
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
        this(
                builder().setNumHiddens(numHiddens).setNumHeads(numHeads).optDropout(dropout).optBias(useBias),
                true,
                null);
    }

    /** Creates a root block, or a child when a place in a parent is given. */
    MultiHeadAttention(Builder options, boolean keepWeights, ChildLayer.Place place) {
        super("MultiHeadAttention");
        this.options = options.copy();
        construct(place);
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
     * Sets whether each forward that takes an NDList computes and keeps the attention weights, which have B * H * Q * K
     * elements. This does not change the output. Turning it off closes the weights of the last forward.
     *
     * @param keep true to keep them in {@link #attention}, which is the default of a block that was made by the
     *     constructor
     */
    public void setKeepAttentionWeights(boolean keep) {
        attention.setKeepAttentionWeights(keep);
    }

    /**
     * Tells whether each forward that takes an NDList keeps the attention weights.
     *
     * @return what was set last
     */
    public boolean isKeepAttentionWeights() {
        return attention.isKeepAttentionWeights();
    }

    /**
     * Projects keys and values and appends them to the inputs' cache, without attending to them: the memory of cross
     * attention, to which later calls with {@link CacheUse#READ} attend.
     *
     * @param inputs the inputs, with a cache and {@link CacheUse#APPEND}. The rows are those of keys (B, K, Ek) and
     *     values (B, K, Ev), without keys those of the queries; with keys, queries may be null. queryLens (B) says how
     *     many rows of each element are appended, queryOffsets where the rows of each begin in a packed batch
     * @param workspace scratch memory for this call alone; null: heed uses memory of its own. Its size is that of
     *     {@link #workspaceSize} for these inputs, without queries for outputs that are not set, with queries for all
     *     outputs
     * @throws IllegalArgumentException if sizes, types or lengths do not fit, or the cache is missing, of another
     *     device, of other sizes, or has rows with other rotary positions
     * @throws CacheFullException if the cache has no room for the rows; it is as it was
     * @throws IllegalStateException if the block is not initialized, the workspace or the cache is in use, or an array,
     *     the workspace, the cache or the block is closed
     * @throws UnsupportedOperationException if the block has additive scores, or the inputs are for training
     * @throws HeedException with {@link Status#WORKSPACE_TOO_SMALL}; the message has both sizes
     */
    public void fillCache(AttentionInputs inputs, Workspace workspace) {
        appendToCache(inputs, workspace);
    }

    @Override
    public void close() {
        super.close();
        attention.close();
    }

    @Override
    public String toString() {
        return options.describe();
    }

    @Override
    NativeLayer newLayer(NativeContext context) {
        try (NativeStructs structs = new NativeStructs()) {
            return HeedNative.heed_multi_head_attention_create(context, options.toNative(structs));
        }
    }

    @Override
    boolean keepsWeights() {
        return attention.keepsWeights();
    }

    /** Keeps the weights (B, H, Q, K) as a view (B * H, Q, K). */
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

    /** Makes a multi-head attention. Sizes that are not set, or are 0, are derived from the others. */
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
        private Rope rope;
        private QkNorm qkNorm = QkNorm.RMS;
        private float qkNormEpsilon;
        private boolean sinks;
        private RelativeBias relativeBias = RelativeBias.NONE;
        private long relativeBiasBuckets;
        private long relativeBiasMaxDistance;
        private Alibi alibi = Alibi.NONE;
        private boolean addBiasKv;
        private boolean addZeroAttn;

        private Builder() {}

        long numHiddens() {
            return numHiddens;
        }

        @Override
        String describe() {
            String bias = biases.isEmpty() || biases.size() == Bias.values().length
                    ? "useBias=" + !biases.isEmpty()
                    : "biases=" + biases;
            return "MultiHeadAttention(numHiddens=" + numHiddens + ", numHeads=" + numHeads + ", " + bias
                    + ", dropout=" + dropout + ")";
        }

        /** The options as C's struct. */
        NativeMultiHeadAttentionOptions toNative(NativeStructs structs) {
            NativeMultiHeadAttentionOptions members = structs.add(new NativeMultiHeadAttentionOptions());
            fill(members);
            members.setNumHiddens(numHiddens);
            members.setNumHeads(numHeads);
            members.setNumKvHeads(numKvHeads);
            members.setHeadSize(headSize);
            members.setValueHeadSize(valueHeadSize);
            members.setOutputSize(outputSize);
            members.setNoOutputProjection(outputProjection ? 0 : 1);
            members.setBiases(biases.stream().mapToInt(bias -> bias.bit).sum());
            members.setScoring(scoring.code);
            members.setRope(NativeStruct.pointerOf(rope == null ? null : structs.add(rope.toNative())));
            members.setQkNorm(qkNorm.code);
            members.setQkNormEpsilon(qkNormEpsilon);
            members.setSinks(sinks ? 1 : 0);
            members.setRelativeBias(relativeBias.code);
            members.setRelativeBiasBuckets(relativeBiasBuckets);
            members.setRelativeBiasMaxDistance(relativeBiasMaxDistance);
            members.setAlibi(alibi.code);
            members.setAddBiasKv(addBiasKv ? 1 : 0);
            members.setAddZeroAttn(addZeroAttn ? 1 : 0);
            return members;
        }

        /**
         * Sets the hidden size. It is required unless headSize is set and, with an output projection, outputSize too.
         *
         * @param numHiddens the size
         * @return this
         */
        public Builder setNumHiddens(long numHiddens) {
            this.numHiddens = numHiddens;
            return this;
        }

        /**
         * Sets the number of heads of the queries, which is required.
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
         * @param numKvHeads a divisor of numHeads; 0, the default, means numHeads
         * @return this
         */
        public Builder optNumKvHeads(long numKvHeads) {
            this.numKvHeads = numKvHeads;
            return this;
        }

        /**
         * Sets the size of a head's queries and keys.
         *
         * @param headSize the size; 0, the default, means numHiddens / numHeads, which must be a whole number
         * @return this
         */
        public Builder optHeadSize(long headSize) {
            this.headSize = headSize;
            return this;
        }

        /**
         * Sets the size of a head's values.
         *
         * @param valueHeadSize the size; 0, the default, means headSize
         * @return this
         */
        public Builder optValueHeadSize(long valueHeadSize) {
            this.valueHeadSize = valueHeadSize;
            return this;
        }

        /**
         * Sets the size of the output.
         *
         * @param outputSize the size; 0, the default, means numHiddens
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
         * @param bias true: all do; false, the default: none does
         * @return this
         */
        public Builder optBias(boolean bias) {
            return optBiases(bias ? Bias.values() : new Bias[0]);
        }

        /**
         * Sets the projections that add a bias; all others add none.
         *
         * @param biases the projections that add one
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
         * Sets rotary positions of queries and keys.
         *
         * @param rope the rotary positions; null, the default: none
         * @return this
         */
        public Builder optRope(Rope rope) {
            this.rope = rope;
            return this;
        }

        /**
         * Sets a norm of queries and keys, head by head, before rotary positions. It adds the parameters
         * "q_norm.weight" and "k_norm.weight": (headSize) for {@link QkNorm#RMS}, (numHeads, headSize) and (numKvHeads,
         * headSize) for {@link QkNorm#LAYER}.
         *
         * @param qkNorm the norm
         * @param epsilon what is added to the mean of the squares, above 0; 0, the default, means no norm
         * @return this
         */
        public Builder optQkNorm(QkNorm qkNorm, float epsilon) {
            this.qkNorm = Objects.requireNonNull(qkNorm, "qkNorm");
            qkNormEpsilon = epsilon;
            return this;
        }

        /**
         * Sets whether each head has a score that takes part in the softmax without a value, the parameter "sinks"
         * (numHeads); the inputs' own sinks must then be null.
         *
         * @param sinks true: each has; false, the default: only those of {@link AttentionInputs#setSinks}
         * @return this
         */
        public Builder optSinks(boolean sinks) {
            this.sinks = sinks;
            return this;
        }

        /**
         * Sets a bias of each score by the distance from query to key, the parameter "relative_bias.weight"
         * (relativeBiasBuckets, numHeads).
         *
         * @param relativeBias the kind; the default is {@link RelativeBias#NONE}
         * @return this
         */
        public Builder optRelativeBias(RelativeBias relativeBias) {
            this.relativeBias = Objects.requireNonNull(relativeBias, "relativeBias");
            return this;
        }

        /**
         * Sets how many buckets the distances of the relative bias have.
         *
         * @param relativeBiasBuckets the number, even for {@link RelativeBias#BOTH_WAYS}; 0, the default, means 32
         * @return this
         */
        public Builder optRelativeBiasBuckets(long relativeBiasBuckets) {
            this.relativeBiasBuckets = relativeBiasBuckets;
            return this;
        }

        /**
         * Sets the distance from which on all distances share a bucket of the relative bias.
         *
         * @param relativeBiasMaxDistance the distance; 0, the default, means 128
         * @return this
         */
        public Builder optRelativeBiasMaxDistance(long relativeBiasMaxDistance) {
            this.relativeBiasMaxDistance = relativeBiasMaxDistance;
            return this;
        }

        /**
         * Sets whether scores are lowered by the distance from query to key, with the slopes of {@link
         * AttentionInputs#createAlibiSlopes}; the inputs' own slopes must then be null.
         *
         * @param alibi how; the default is {@link Alibi#NONE}
         * @return this
         */
        public Builder optAlibi(Alibi alibi) {
            this.alibi = Objects.requireNonNull(alibi, "alibi");
            return this;
        }

        /**
         * Sets whether every query sees one more key, whatever hides the others, as with PyTorch's add_bias_kv. The key
         * is the parameter "bias_k" (numKvHeads * headSize), its value "bias_v" (numKvHeads * valueHeadSize). The
         * attention weights have one column more.
         *
         * @param addBiasKv true: it does; false, the default: it does not. Not with {@link Scoring#ADDITIVE}
         * @return this
         */
        public Builder optAddBiasKv(boolean addBiasKv) {
            this.addBiasKv = addBiasKv;
            return this;
        }

        /**
         * Sets whether every query sees one more key that is 0, with the value 0, whatever hides the others, as with
         * PyTorch's add_zero_attn. The attention weights have one column more, behind that of {@link #optAddBiasKv}.
         *
         * @param addZeroAttn true: it does; false, the default: it does not. Not with {@link Scoring#ADDITIVE}
         * @return this
         */
        public Builder optAddZeroAttn(boolean addZeroAttn) {
            this.addZeroAttn = addZeroAttn;
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if an option is out of range, or contradicts another
         */
        public MultiHeadAttention build() {
            return new MultiHeadAttention(this, false, null);
        }

        @Override
        Builder self() {
            return this;
        }
    }
}
