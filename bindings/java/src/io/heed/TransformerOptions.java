// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * The options that the layers of encoders and of decoders have.
 *
 * @param <B> the builder
 */
abstract class TransformerOptions<B extends TransformerOptions<B>> extends CopiedOptions<B> {
    /** The members that both of C's structs have. */
    interface Members {
        void setFeedForward(long feedForward);

        void setNorm(long norm);

        void setNormFirst(int normFirst);

        void setDropout(float dropout);
    }

    private FeedForward.Builder feedForward;
    private LayerNorm.Builder norm = LayerNorm.builder();
    private boolean normFirst;
    private float dropout;

    TransformerOptions() {}

    abstract B self();

    /** The text of a block with these options. */
    abstract String describe();

    /** The options as C's struct. */
    abstract NativeStruct toNative(NativeStructs structs);

    final void fill(Members members, NativeStructs structs) {
        members.setFeedForward(NativeStruct.pointerOf(feedForward == null ? null : feedForward.toNative(structs)));
        members.setNorm(NativeStruct.pointerOf(norm.toNative(structs)));
        members.setNormFirst(normFirst ? 1 : 0);
        members.setDropout(dropout);
    }

    final String describeCommon() {
        return "feedForward=" + feedForward.describe() + ", norm=" + norm.describe() + ", normFirst=" + normFirst
                + ", dropout=" + dropout;
    }

    /** Makes a child that is not an attention, by its name. */
    final NativeBlock newChild(String name, ChildLayer.Place place) {
        if (name.equals("feed_forward")) {
            return new FeedForward(feedForward, place);
        }
        return name.startsWith("norm") ? newNorm(place) : new Dropout(dropout, place);
    }

    final LayerNorm newNorm(ChildLayer.Place place) {
        return new LayerNorm(norm, place);
    }

    /**
     * Sets the feed-forward network, which is required.
     *
     * @param feedForward its options; outputSize may only be the attention's numHiddens
     * @return this
     */
    public final B setFeedForward(FeedForward.Builder feedForward) {
        this.feedForward = Objects.requireNonNull(feedForward, "feedForward").copy();
        return self();
    }

    /**
     * Sets the norms.
     *
     * @param norm the options of all of them; the default is a layer norm with the defaults of {@link LayerNorm}
     * @return this
     */
    public final B optNorm(LayerNorm.Builder norm) {
        this.norm = Objects.requireNonNull(norm, "norm").copy();
        return self();
    }

    /**
     * Sets where the norms are.
     *
     * @param normFirst true: before each attention and the feed-forward network; false, the default: after each sum
     * @return this
     */
    public final B optNormFirst(boolean normFirst) {
        this.normFirst = normFirst;
        return self();
    }

    /**
     * Sets the probability that an element of what is added to the rows is dropped when training. The attention and the
     * feed-forward network have dropouts of their own.
     *
     * @param dropout the probability, from 0 to below 1; the default is 0
     * @return this
     */
    public final B optDropout(float dropout) {
        this.dropout = dropout;
        return self();
    }
}
