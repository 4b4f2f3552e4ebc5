// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.Objects;

/** A value that is multiplied by a factor after each of some steps, and stays as it is between them. */
public final class MultiFactorTracker implements Tracker {
    private final float baseValue;
    private final float factor;
    private final int[] steps;

    private MultiFactorTracker(float baseValue, float factor, int[] steps) {
        this.baseValue = baseValue;
        this.factor = factor;
        this.steps = steps;
    }

    /**
     * Begins a tracker.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    public float getNewValue(int numUpdate) {
        float value = baseValue;
        for (int i = 0; i < steps.length && numUpdate > steps[i]; i++) {
            value *= factor;
        }
        return value;
    }

    /** Makes a tracker of this kind. */
    public static final class Builder {
        private float baseValue;
        private float factor = 1;
        private int[] steps;

        private Builder() {}

        @Override
        public String toString() {
            return "MultiFactorTracker.Builder(baseValue=" + baseValue
                    + ", factor=" + factor + ", steps=" + Arrays.toString(steps) + ")";
        }

        /**
         * Sets the first value, which is required.
         *
         * @param baseValue the value
         * @return this
         */
        public Builder setBaseValue(float baseValue) {
            this.baseValue = baseValue;
            return this;
        }

        /**
         * Sets the steps after which the value is multiplied, which are required.
         *
         * @param steps the numbers of the steps, rising, from 1 on
         * @return this
         */
        public Builder setSteps(int[] steps) {
            this.steps = Objects.requireNonNull(steps, "steps").clone();
            return this;
        }

        /**
         * Sets the factor.
         *
         * @param factor above 0, and at most 1, the default
         * @return this
         */
        public Builder optFactor(float factor) {
            this.factor = factor;
            return this;
        }

        /**
         * Makes the tracker.
         *
         * @return the tracker
         * @throws IllegalArgumentException if the factor is out of range, or the steps do not rise
         * @throws NullPointerException if there are no steps
         */
        public MultiFactorTracker build() {
            Objects.requireNonNull(steps, "steps is not set: call setSteps, as with {1000, 2000}");
            for (int i = 0; i < steps.length; i++) {
                if (steps[i] <= (i == 0 ? 0 : steps[i - 1])) {
                    throw new IllegalArgumentException(
                            "steps is " + Arrays.toString(steps) + ", expected rising numbers of at least 1");
                }
            }
            if (!(factor > 0 && factor <= 1)) {
                throw new IllegalArgumentException("factor is " + factor + ", expected above 0, and at most 1");
            }
            return new MultiFactorTracker(baseValue, factor, steps);
        }
    }
}
