// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * Options common to all attention blocks.
 *
 * @param <B> the builder
 */
abstract class AttentionOptions<B extends AttentionOptions<B>> implements Cloneable {
    /** The members that C's structs of options for attention have in common. */
    interface Members {
        void setScale(float scale);

        void setSoftCap(float softCap);

        void setDropout(float dropout);

        void setCausal(int causal);

        void setWindow(int window);

        void setWindowLeft(long windowLeft);

        void setWindowRight(long windowRight);

        void setEmptyRows(int emptyRows);
    }

    float dropout;
    private float scale;
    private float softCap;
    private Causal causal = Causal.NONE;
    private Window window = Window.NONE;
    private long windowLeft;
    private long windowRight;
    private EmptyRows emptyRows = EmptyRows.ZERO;

    AttentionOptions() {}

    abstract B self();

    /** A copy for a block to keep, since the program may change the builder afterwards. */
    @SuppressWarnings("unchecked")
    final B copy() {
        try {
            return (B) clone();
        } catch (CloneNotSupportedException error) {
            throw new AssertionError(error);
        }
    }

    final void fill(Members members) {
        members.setScale(scale);
        members.setSoftCap(softCap);
        members.setDropout(dropout);
        members.setCausal(causal.code);
        members.setWindow(window.code);
        members.setWindowLeft(windowLeft);
        members.setWindowRight(windowRight);
        members.setEmptyRows(emptyRows.code);
    }

    /**
     * Sets the factor of the scores.
     *
     * @param scale the factor; 0: the default, which is 1 for {@link AdditiveAttention}, and 1 / sqrt(size of a query
     *     in its head) for the others
     * @return this
     */
    public final B optScale(float scale) {
        this.scale = scale;
        return self();
    }

    /**
     * Sets the cap that scaled scores approach: softCap * tanh(score / softCap).
     *
     * @param softCap the cap; 0, the default: none
     * @return this
     */
    public final B optSoftCap(float softCap) {
        this.softCap = softCap;
        return self();
    }

    /**
     * Sets the probability that an attention weight is dropped when training.
     *
     * @param dropout the probability, from 0, the default, to below 1
     * @return this
     */
    public final B optDropout(float dropout) {
        this.dropout = dropout;
        return self();
    }

    /**
     * Sets whether queries attend to no later keys.
     *
     * @param causal which keys are later; {@link Causal#NONE} is the default
     * @return this
     */
    public final B optCausal(Causal causal) {
        this.causal = Objects.requireNonNull(causal, "causal");
        return self();
    }

    /**
     * Sets a window: a query at position p attends to keys p - left to p + right only.
     *
     * @param window where positions are; {@link Window#NONE} is the default
     * @param left how many keys before the position; negative: all
     * @param right how many keys after it; negative: all
     * @return this
     */
    public final B optWindow(Window window, long left, long right) {
        this.window = Objects.requireNonNull(window, "window");
        windowLeft = left;
        windowRight = right;
        return self();
    }

    /**
     * Sets the output of a query that may attend to no key.
     *
     * @param emptyRows the output; {@link EmptyRows#ZERO} is the default
     * @return this
     */
    public final B optEmptyRows(EmptyRows emptyRows) {
        this.emptyRows = Objects.requireNonNull(emptyRows, "emptyRows");
        return self();
    }
}
