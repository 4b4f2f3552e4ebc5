// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * Scaled dot-product attention (Vaswani et al., "Attention Is All You Need", 2017), with d2l-java's constructor and
 * calls. It has no parameters, and need not be initialized. Scores are divided by the square root of the size of a
 * query (the class in d2l-java's utils/attention divides by the square root of 2: {@code optScale} can do that).
 *
 * <p>forward takes a list of queries (B, Q, D), keys (B, K, D) and values (B, K, Dv), all FLOAT32, FLOAT16 or BFLOAT16,
 * or each with an axis of heads after the first, and the valid lengths (B) or (B, Q) of FLOAT32, INT32 or INT64, which
 * may be missing or null: with length n, a query attends to the first n keys. It returns a list of one array (B, Q,
 * Dv), or (B, H, Q, Dv), of the queries' type, which belongs to the queries' manager. Many threads may call it on one
 * block at the same time.
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

    /**
     * Computes attention in one call, without a block and with the default options: scores are divided by the square
     * root of the size of a query, and every query attends to every key.
     *
     * @param queries (B, Q, D) or (B, H, Q, D) of FLOAT32, FLOAT16 or BFLOAT16
     * @param keys (B, K, D) or (B, Hkv, K, D) of the queries' type, where Hkv divides H: H / Hkv query heads share a
     *     key head
     * @param values (B, K, Dv) or (B, Hkv, K, Dv) of the queries' type
     * @return a new array (B, Q, Dv) or (B, H, Q, Dv) of the queries' type, which belongs to the queries' manager
     * @throws IllegalArgumentException if sizes or types do not fit
     * @throws IllegalStateException if an array or its manager is closed
     */
    public static NDArray scaledDotProductAttention(NDArray queries, NDArray keys, NDArray values) {
        Objects.requireNonNull(queries, "queries");
        Objects.requireNonNull(keys, "keys");
        Objects.requireNonNull(values, "values");
        NDArray.tensorOf(queries, "queries");
        NDArray.tensorOf(keys, "keys");
        NDArray.tensorOf(values, "values");
        if (Tape.following(queries, keys, values) != null) {
            return new DotProductAttention(builder(), false).forward(queries, keys, values).singletonOrThrow();
        }
        NDManager manager = queries.getManager();
        long[] dims = queries.getShape().dims().clone();
        if (dims.length > 0 && values.getShape().dimension() > 0) {
            dims[dims.length - 1] = values.getShape().tail();
        }
        NativeContext context = manager.openContext();
        NativeTensor output = NativeTensor.create(context, queries.getDataType().code, dims);
        try (LayerCall call = LayerCall.in(context)) {
            call.dropout(false, 0).read(new NDArray[] {queries, keys, values}).write(output, null);
            attend(context, builder(), call);
        } catch (Throwable error) {
            output.close();
            throw error;
        }
        return manager.adopt(output);
    }

    /**
     * Computes attention in one call, without a block, and writes to existing arrays. It accepts lengths, mask, bias
     * and all options, and can also write the attention weights and log-sum-exps. The results have the same bits as
     * those of a block with these options.
     *
     * @param inputs the arrays to read
     * @param outputs the arrays to write, at least one
     * @param options any of heed's options; null: the defaults
     * @throws IllegalArgumentException if sizes, types, lengths or options do not fit, an output is missing or overlaps
     *     another array, or the inputs are for training and have no seed: only a block could draw one
     * @throws IllegalStateException if an array or its manager is closed
     */
    public static void scaledDotProductAttention(AttentionInputs inputs, AttentionOutputs outputs, Builder options) {
        Objects.requireNonNull(inputs, "inputs");
        Objects.requireNonNull(outputs, "outputs");
        NDArray queries = Objects.requireNonNull(inputs.getQueries(), "queries");
        NDArray.tensorOf(queries, "queries");
        if (inputs.isTraining() && !inputs.hasDropoutSeed()) {
            throw new IllegalArgumentException(
                    "inputs are for training and have no dropout seed, expected one: there is no block to draw it");
        }
        if (Tape.areAnyOpen() && Tape.following(inputs.arrays()) != null) {
            throw Tape.intoExisting("scaledDotProductAttention");
        }
        outputs.refuseFollowed();
        NativeContext context = queries.getManager().openContext();
        try (LayerCall call = LayerCall.in(context)) {
            call.dropout(inputs.isTraining(), inputs.getDropoutSeed()).read(inputs).write(outputs);
            attend(context, options == null ? builder() : options, call);
        }
        outputs.countWrites();
    }

    @Override
    public String toString() {
        return options.describe();
    }

    @Override
    NativeLayer newLayer(NativeContext context) {
        try (NativeDotProductAttentionOptions members = new NativeDotProductAttentionOptions()) {
            options.fill(members);
            return HeedNative.heed_dot_product_attention_create(context, members);
        }
    }

    private static void attend(NativeContext context, AttentionOptions<?> options, LayerCall call) {
        try (NativeDotProductAttentionOptions members = new NativeDotProductAttentionOptions()) {
            options.fill(members);
            call.scaledDotProductAttention(context, members);
        }
    }

    /** Makes a dot-product attention. */
    public static final class Builder extends AttentionOptions<Builder> {
        private Builder() {}

        @Override
        String describe() {
            return "DotProductAttention(dropout=" + dropout + ")";
        }

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
