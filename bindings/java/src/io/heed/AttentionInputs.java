// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * What a block, as {@link MultiHeadAttention}, reads in {@code forward(inputs, outputs, workspace)}: made once and used
 * for many calls. What is not set is null, false or 0. Blocks with one input ({@link Linear}, {@link Dropout}) read it
 * as queries. Not for several threads at once.
 */
public final class AttentionInputs {
    private NDArray queries;
    private NDArray keys;
    private NDArray values;
    private NDArray validLens;
    private NDArray mask;
    private NDArray bias;
    private boolean training;
    private boolean seeded;
    private long dropoutSeed;

    /** Makes inputs of which none is set. */
    public AttentionInputs() {}

    /**
     * Sets the queries, which must be there.
     *
     * @param queries (B, Q, E) of FLOAT32, FLOAT16 or BFLOAT16
     * @return this
     */
    public AttentionInputs setQueries(NDArray queries) {
        this.queries = queries;
        return this;
    }

    /**
     * Sets the keys.
     *
     * @param keys (B, K, E) of the queries' type; null: the queries
     * @return this
     */
    public AttentionInputs setKeys(NDArray keys) {
        this.keys = keys;
        return this;
    }

    /**
     * Sets the values.
     *
     * @param values (B, K, E) of the queries' type; null: the keys
     * @return this
     */
    public AttentionInputs setValues(NDArray values) {
        this.values = values;
        return this;
    }

    /**
     * Sets how many keys, from the first, a query may attend to.
     *
     * @param validLens (B) or (B, Q) of FLOAT32, INT32 or INT64, whole numbers from 0 to K; null: all
     * @return this
     */
    public AttentionInputs setValidLens(NDArray validLens) {
        this.validLens = validLens;
        return this;
    }

    /**
     * Sets which keys a query may attend to.
     *
     * @param mask BOOLEAN of (B, H, Q, K) or (Q, K), ones where it is repeated: true = may attend; null: all
     * @return this
     * @throws IllegalArgumentException if the mask is not of BOOLEAN: 0 and -inf that are added are a bias
     */
    public AttentionInputs setMask(NDArray mask) {
        if (mask != null && mask.data().dataType != DataType.BOOLEAN) {
            throw new IllegalArgumentException("mask is of " + mask.data().dataType.name()
                    + ", expected BOOLEAN with true = may attend; setBias takes numbers that are added to the scores");
        }
        this.mask = mask;
        return this;
    }

    /**
     * Sets what is added to the scaled scores.
     *
     * @param bias FLOAT32 or the queries' type, of the mask's shapes; negative infinity hides a key; null: nothing
     * @return this
     */
    public AttentionInputs setBias(NDArray bias) {
        this.bias = bias;
        return this;
    }

    /**
     * Sets whether dropout is active.
     *
     * @param training whether it is
     * @return this
     */
    public AttentionInputs setTraining(boolean training) {
        this.training = training;
        return this;
    }

    /**
     * Sets the seed of the dropout: the same drops the same. Without it every call draws a new one from the block.
     *
     * @param dropoutSeed any number
     * @return this
     */
    public AttentionInputs setDropoutSeed(long dropoutSeed) {
        this.dropoutSeed = dropoutSeed;
        seeded = true;
        return this;
    }

    /**
     * Sets everything back: no input is set.
     *
     * @return this
     */
    public AttentionInputs clear() {
        queries = null;
        keys = null;
        values = null;
        validLens = null;
        mask = null;
        bias = null;
        training = false;
        seeded = false;
        dropoutSeed = 0;
        return this;
    }

    /**
     * Returns the queries.
     *
     * @return what was set, or null
     */
    public NDArray getQueries() {
        return queries;
    }

    /**
     * Returns the keys.
     *
     * @return what was set, or null
     */
    public NDArray getKeys() {
        return keys;
    }

    /**
     * Returns the values.
     *
     * @return what was set, or null
     */
    public NDArray getValues() {
        return values;
    }

    /**
     * Returns the valid lengths.
     *
     * @return what was set, or null
     */
    public NDArray getValidLens() {
        return validLens;
    }

    /**
     * Returns the mask.
     *
     * @return what was set, or null
     */
    public NDArray getMask() {
        return mask;
    }

    /**
     * Returns what is added to the scores.
     *
     * @return what was set, or null
     */
    public NDArray getBias() {
        return bias;
    }

    /**
     * Tells whether dropout is active.
     *
     * @return what was set, or false
     */
    public boolean isTraining() {
        return training;
    }

    /**
     * Returns the seed of the dropout.
     *
     * @return what was set, or 0
     */
    public long getDropoutSeed() {
        return dropoutSeed;
    }

    /**
     * Tells whether the seed of the dropout was set.
     *
     * @return false if every call draws a new one from the block
     */
    public boolean hasDropoutSeed() {
        return seeded;
    }
}
