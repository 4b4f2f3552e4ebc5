// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A value that falls along half a wave of the cosine: last + (first - last) / 2 * (1 + cos(pi * n / steps)) in step n
 * of so many steps, and then stays as it is (Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm
 * Restarts", 2017, without restarts).
 */
public final class CosineTracker implements Tracker {
    private final float baseValue;
    private final float finalValue;
    private final int maxUpdates;

    private CosineTracker(Builder builder) {
        baseValue = builder.baseValue;
        finalValue = builder.finalValue;
        maxUpdates = builder.maxUpdates;
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
        if (numUpdate > maxUpdates) {
            return finalValue;
        }
        return finalValue + (baseValue - finalValue) / 2 * (1 + (float) Math.cos(Math.PI * numUpdate / maxUpdates));
    }

    /** Makes a tracker of this kind. */
    public static final class Builder {
        private float baseValue;
        private float finalValue = 0.01f;
        private int maxUpdates;

        private Builder() {}

        @Override
        public String toString() {
            return "CosineTracker.Builder(baseValue=" + baseValue
                    + ", finalValue=" + finalValue + ", maxUpdates=" + maxUpdates + ")";
        }

        /**
         * Sets the first value, which is required.
         *
         * @param baseValue a value above 0 and above the last one
         * @return this
         */
        public Builder setBaseValue(float baseValue) {
            this.baseValue = baseValue;
            return this;
        }

        /**
         * Sets the last value.
         *
         * @param finalValue the value; the default is 0.01
         * @return this
         */
        public Builder optFinalValue(float finalValue) {
            this.finalValue = finalValue;
            return this;
        }

        /**
         * Sets the number of steps until the last value, which is required.
         *
         * @param maxUpdates the number, 1 or more
         * @return this
         */
        public Builder setMaxUpdates(int maxUpdates) {
            this.maxUpdates = maxUpdates;
            return this;
        }

        /**
         * Makes the tracker.
         *
         * @return the tracker
         * @throws IllegalArgumentException if a number is out of range
         */
        public CosineTracker build() {
            if (maxUpdates < 1) {
                throw new IllegalArgumentException("maxUpdates is " + maxUpdates + ", expected at least 1");
            }
            if (!(baseValue > 0 && baseValue > finalValue)) {
                throw new IllegalArgumentException("baseValue is " + baseValue
                        + ", expected above 0, and above finalValue, which is " + finalValue);
            }
            return new CosineTracker(this);
        }
    }
}
