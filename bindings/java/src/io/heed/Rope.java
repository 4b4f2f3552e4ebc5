// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * Rotary positions (Su et al., "RoFormer", 2021) of a {@link MultiHeadAttention}, which checks the options. In each
 * head of queries and keys, pair i of the elements is rotated by the angle position * base^(-2i / rotarySize), changed
 * as the scaling says. The position of query i is K - Q + i unless {@link AttentionInputs#setPositions} says another,
 * that of a key its index. Immutable; made by {@link #builder()}.
 */
public final class Rope {
    private final Builder options;

    private Rope(Builder options) {
        this.options = options;
    }

    /**
     * Begins rotary positions.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public String toString() {
        return "Rope" + options.describe();
    }

    /** The options as C's struct, which the caller closes. */
    NativeRopeOptions toNative() {
        NativeRopeOptions members = new NativeRopeOptions();
        members.setLayout(options.layout == null ? 0 : options.layout.code);
        members.setRotarySize(options.rotarySize);
        members.setRotaryOffset(options.rotaryOffset);
        members.setBase(options.base);
        members.setScaling(options.scaling.code);
        members.setFactor(options.factor);
        members.setNumFactors(options.factors.length);
        members.setFactors(bytesOf(options.factors));
        members.setShortFactors(bytesOf(options.shortFactors));
        members.setOriginalLength(options.originalLength);
        members.setBetaFast(options.betaFast);
        members.setBetaSlow(options.betaSlow);
        members.setNoRounding(options.rounding ? 0 : 1);
        members.setLowFreqFactor(options.lowFreqFactor);
        members.setHighFreqFactor(options.highFreqFactor);
        members.setAttentionFactor(options.attentionFactor);
        return members;
    }

    /** The numbers as C reads them; null if there are none. */
    private static ByteBuffer bytesOf(float[] numbers) {
        if (numbers.length == 0) {
            return null;
        }
        ByteBuffer bytes = ByteBuffer.allocateDirect(numbers.length * Float.BYTES).order(ByteOrder.nativeOrder());
        bytes.asFloatBuffer().put(numbers);
        return bytes;
    }

    /** Collects the options. What a scaling does not use must not be set. Not thread-safe. */
    public static final class Builder implements Cloneable {
        private RopeLayout layout;
        private long rotarySize;
        private long rotaryOffset;
        private float base;
        private RopeScaling scaling = RopeScaling.NONE;
        private float factor;
        private float[] factors = {};
        private float[] shortFactors = {};
        private long originalLength;
        private float betaFast;
        private float betaSlow;
        private boolean rounding = true;
        private float lowFreqFactor;
        private float highFreqFactor;
        private float attentionFactor;

        private Builder() {}

        @Override
        public String toString() {
            return "Rope.Builder" + describe();
        }

        private String describe() {
            return "(layout=" + layout + ", base=" + base + ", scaling=" + scaling + ")";
        }

        /**
         * Sets which elements make a pair, which is required.
         *
         * @param layout the pairing with which the weights were trained
         * @return this
         */
        public Builder setLayout(RopeLayout layout) {
            this.layout = Objects.requireNonNull(layout, "layout");
            return this;
        }

        /**
         * Sets how many elements of a head are rotated.
         *
         * @param rotarySize an even number; 0, the default, means the rest of the head
         * @return this
         */
        public Builder optRotarySize(long rotarySize) {
            this.rotarySize = rotarySize;
            return this;
        }

        /**
         * Sets the first element of a head that is rotated.
         *
         * @param rotaryOffset the index; 0 is the default
         * @return this
         */
        public Builder optRotaryOffset(long rotaryOffset) {
            this.rotaryOffset = rotaryOffset;
            return this;
        }

        /**
         * Sets the base of the frequencies.
         *
         * @param base the base, above 0; 0, the default, means 10000
         * @return this
         */
        public Builder optBase(float base) {
            this.base = base;
            return this;
        }

        /**
         * Sets how positions are stretched.
         *
         * @param scaling the scaling; the default is {@link RopeScaling#NONE}
         * @return this
         */
        public Builder optScaling(RopeScaling scaling) {
            this.scaling = Objects.requireNonNull(scaling, "scaling");
            return this;
        }

        /**
         * Sets how much longer texts may be than those of the training.
         *
         * @param factor above 0, for LINEAR, NTK, YARN and LLAMA3: above 1 frequencies become smaller, between 0 and 1
         *     larger. FACTORS only computes the attention factor from it, which is 1 for factors up to 1, and needs none
         *     if the attention factor is set
         * @return this
         */
        public Builder optFactor(float factor) {
            this.factor = factor;
            return this;
        }

        /**
         * Sets the factor by which each frequency is divided, for the scaling FACTORS.
         *
         * @param factors rotarySize / 2 numbers above 0
         * @return this
         */
        public Builder optFactors(float... factors) {
            this.factors = Objects.requireNonNull(factors, "factors").clone();
            return this;
        }

        /**
         * Sets the factors of calls whose positions are all below originalLength, in place of those of optFactors, for
         * the scaling FACTORS ("longrope" of Phi-3). A cache of rotated keys that were rotated with the one list is
         * refused in a call that takes the other.
         *
         * @param shortFactors as many numbers above 0 as optFactors has; none, the default: all calls have those
         * @return this
         */
        public Builder optShortFactors(float... shortFactors) {
            this.shortFactors = Objects.requireNonNull(shortFactors, "shortFactors").clone();
            return this;
        }

        /**
         * Sets how many positions the training had, for YARN, LLAMA3, and FACTORS without an attention factor.
         *
         * @param originalLength the number of positions
         * @return this
         */
        public Builder optOriginalLength(long originalLength) {
            this.originalLength = originalLength;
            return this;
        }

        /**
         * For YARN: frequencies that turn at least this many times in originalLength stay as they are.
         *
         * @param betaFast the number of turns; 0, the default, means 32
         * @return this
         */
        public Builder optBetaFast(float betaFast) {
            this.betaFast = betaFast;
            return this;
        }

        /**
         * For YARN: frequencies that turn at most this many times in originalLength are divided by the whole factor.
         *
         * @param betaSlow the number of turns; 0, the default, means 1
         * @return this
         */
        public Builder optBetaSlow(float betaSlow) {
            this.betaSlow = betaSlow;
            return this;
        }

        /**
         * Sets whether the ends of the range of frequencies between betaFast and betaSlow are rounded to whole pairs,
         * for YARN.
         *
         * @param rounding true, the default; false as gpt-oss
         * @return this
         */
        public Builder optRounding(boolean rounding) {
            this.rounding = rounding;
            return this;
        }

        /**
         * Sets the wavelength above which a frequency is divided by the whole factor, for LLAMA3.
         *
         * @param lowFreqFactor the wavelength is originalLength / lowFreqFactor; 0, the default, means 1
         * @return this
         */
        public Builder optLowFreqFactor(float lowFreqFactor) {
            this.lowFreqFactor = lowFreqFactor;
            return this;
        }

        /**
         * Sets the wavelength below which a frequency stays as it is, for LLAMA3.
         *
         * @param highFreqFactor the wavelength is originalLength / highFreqFactor; 0, the default, means 4
         * @return this
         */
        public Builder optHighFreqFactor(float highFreqFactor) {
            this.highFreqFactor = highFreqFactor;
            return this;
        }

        /**
         * Sets the factor of cosines and sines.
         *
         * @param attentionFactor above 0; 0, the default, means with a factor above 1 for YARN 0.1 ln(factor) + 1 and
         *     for FACTORS sqrt(1 + ln(factor) / ln(originalLength)), and 1 otherwise
         * @return this
         */
        public Builder optAttentionFactor(float attentionFactor) {
            this.attentionFactor = attentionFactor;
            return this;
        }

        /**
         * Makes the rotary positions.
         *
         * @return the options that were set
         * @throws IllegalArgumentException if there are shortFactors, but not as many as factors
         */
        public Rope build() {
            if (shortFactors.length != 0 && shortFactors.length != factors.length) {
                throw new IllegalArgumentException("shortFactors has " + shortFactors.length + " numbers, expected "
                        + factors.length + " as factors has");
            }
            try {
                return new Rope((Builder) clone());
            } catch (CloneNotSupportedException error) {
                throw new AssertionError(error);
            }
        }
    }
}
