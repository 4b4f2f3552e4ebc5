// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * The options that the layers of encoders and of decoders have. Public, so that its methods can be called by reflection;
 * only heed's own builders extend it.
 *
 * @param <B> the builder
 */
public abstract class TransformerBlockOptions<B extends TransformerBlockOptions<B>> extends LayerOptions<B> {
    /** The members that both of C's structs have. */
    interface Members {
        void setFeedForward(long feedForward);

        void setNorm(long norm);

        void setNormFirst(int normFirst);

        void setDropout(float dropout);

        void setOutputNorms(int outputNorms);

        void setNoFirstNorm(int noFirstNorm);

        void setResidualScale(float residualScale);
    }

    private FeedForward.Builder feedForward;
    private LayerNorm.Builder norm = LayerNorm.builder();
    private boolean normFirst;
    private float dropout;
    private boolean outputNorms;
    private boolean noFirstNorm;
    private float residualScale;

    TransformerBlockOptions() {}

    abstract B self();

    /** The size of the rows. */
    abstract long numHiddens();

    /** The options as C's struct. */
    abstract NativeStruct toNative(NativeStructs structs);

    final void fill(Members members, NativeStructs structs) {
        members.setFeedForward(NativeStruct.pointerOf(feedForward == null ? null : feedForward.toNative(structs)));
        members.setNorm(NativeStruct.pointerOf(norm.toNative(structs)));
        members.setNormFirst(normFirst ? 1 : 0);
        members.setDropout(dropout);
        members.setOutputNorms(outputNorms ? 1 : 0);
        members.setNoFirstNorm(noFirstNorm ? 1 : 0);
        members.setResidualScale(residualScale);
    }

    final String describeCommon() {
        return "feedForward=" + textOf(feedForward) + ", norm=" + norm.describe() + ", normFirst=" + normFirst
                + ", dropout=" + dropout + (outputNorms ? ", outputNorms=true" : "")
                + (noFirstNorm ? ", noFirstNorm=true" : "")
                + (residualScale == 0 ? "" : ", residualScale=" + residualScale);
    }

    /** Makes a child that is not an attention, by its name. */
    final NativeBlock newChild(String name, ChildLayer.Place place) {
        if (name.equals("feed_forward")) {
            return new FeedForward(feedForward, place);
        }
        return name.startsWith("dropout") ? newDropout(place) : newNorm(place);
    }

    final Dropout newDropout(ChildLayer.Place place) {
        return new Dropout(Dropout.builder().optRate(dropout), place);
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

    /**
     * Sets whether also the output of each attention and of the feed-forward network passes a norm, before its dropout
     * (Gemma 2).
     *
     * @param outputNorms true: it does, by "output_norm_1" and so on; only with normFirst. False is the default
     * @return this
     */
    public final B optOutputNorms(boolean outputNorms) {
        this.outputNorms = outputNorms;
        return self();
    }

    /**
     * Sets whether norm_1 is left out, so that the self-attention reads the rows as they are (the first layer of
     * ModernBERT).
     *
     * @param noFirstNorm true: it is left out; only with normFirst. False is the default
     * @return this
     */
    public final B optNoFirstNorm(boolean noFirstNorm) {
        this.noFirstNorm = noFirstNorm;
        return self();
    }

    /**
     * Sets what the outputs of each attention and of the feed-forward network are multiplied by, before the dropout.
     *
     * @param residualScale the factor, such as the residual_multiplier of Granite; 0, the default, means 1. Not with
     *     outputNorms
     * @return this
     */
    public final B optResidualScale(float residualScale) {
        this.residualScale = residualScale;
        return self();
    }
}
