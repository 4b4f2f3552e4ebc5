// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * The options that all attention blocks have. Public, so that its methods can be called by reflection; only heed's own
 * builders extend it.
 *
 * @param <B> the builder
 */
public abstract class AttentionOptions<B extends AttentionOptions<B>> extends CopiedOptions<B> {
    /** The members that all of C's structs of attention options have. */
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
     * @param scale the factor; 0, the default, means 1 for {@link AdditiveAttention} and {@link GeneralAttention}, and
     *     1 / sqrt(size of a query in its head) for the others
     * @return this
     */
    public final B optScale(float scale) {
        this.scale = scale;
        return self();
    }

    /**
     * Sets the cap that scaled scores approach: softCap * tanh(score / softCap).
     *
     * @param softCap the cap; 0, the default, means no cap
     * @return this
     */
    public final B optSoftCap(float softCap) {
        this.softCap = softCap;
        return self();
    }

    /**
     * Sets the probability that an attention weight is dropped when training.
     *
     * @param dropout the probability, from 0 to below 1; the default is 0
     * @return this
     */
    public final B optDropout(float dropout) {
        this.dropout = dropout;
        return self();
    }

    /**
     * Sets whether queries attend only to keys that are not later than themselves.
     *
     * @param causal how positions are aligned; the default is {@link Causal#NONE}
     * @return this
     */
    public final B optCausal(Causal causal) {
        this.causal = Objects.requireNonNull(causal, "causal");
        return self();
    }

    /**
     * Sets a window: a query at position p attends only to keys p - left to p + right.
     *
     * @param window how positions are aligned; the default is {@link Window#NONE}
     * @param left how many keys before its position a query attends to; negative: all
     * @param right how many keys after its position a query attends to; negative: all
     * @return this
     */
    public final B optWindow(Window window, long left, long right) {
        this.window = Objects.requireNonNull(window, "window");
        windowLeft = left;
        windowRight = right;
        return self();
    }

    /**
     * Sets the output of a query that attends to no key.
     *
     * @param emptyRows the output; the default is {@link EmptyRows#ZERO}
     * @return this
     */
    public final B optEmptyRows(EmptyRows emptyRows) {
        this.emptyRows = Objects.requireNonNull(emptyRows, "emptyRows");
        return self();
    }
}
