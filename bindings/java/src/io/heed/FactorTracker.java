// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** A value that is multiplied by a factor in each step: value * factor^n in step n, until a least value or a last step. */
public final class FactorTracker implements Tracker {
    private final float baseValue;
    private final float factor;
    private final int maxUpdates;

    private FactorTracker(float baseValue, float factor, int maxUpdates) {
        this.baseValue = baseValue;
        this.factor = factor;
        this.maxUpdates = maxUpdates;
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
        return (float) (baseValue * Math.pow(factor, Math.min(numUpdate, maxUpdates)));
    }

    /** Makes a tracker of this kind. */
    public static final class Builder {
        private float baseValue;
        private float factor;
        private Float min;
        private Integer maxUpdates;

        private Builder() {}

        @Override
        public String toString() {
            return "FactorTracker.Builder(baseValue=" + baseValue + ", factor=" + factor + ")";
        }

        /**
         * Sets the value before the first step, which is required.
         *
         * @param baseValue the value
         * @return this
         */
        public Builder setBaseValue(float baseValue) {
            this.baseValue = baseValue;
            return this;
        }

        /**
         * Sets the factor, which is required.
         *
         * @param factor above 0, and at most 1
         * @return this
         */
        public Builder setFactor(float factor) {
            this.factor = factor;
            return this;
        }

        /**
         * Sets the least value: the value stays as it is from the step on in which it comes nearest to it.
         *
         * @param min a value above 0 and below the first one; not together with {@link #optMaxUpdates}
         * @return this
         */
        public Builder optMinValue(float min) {
            this.min = min;
            return this;
        }

        /**
         * Sets the last step in which the value changes; the default is none.
         *
         * @param maxUpdates the number of the step
         * @return this
         */
        public Builder optMaxUpdates(int maxUpdates) {
            this.maxUpdates = maxUpdates;
            return this;
        }

        /**
         * Makes the tracker.
         *
         * @return the tracker
         * @throws IllegalArgumentException if the factor or the least value is out of range, or there is both a least
         *     value and a last step
         */
        public FactorTracker build() {
            if (!(factor > 0 && factor <= 1)) {
                throw new IllegalArgumentException("factor is " + factor + ", expected above 0, and at most 1");
            }
            if (min == null) {
                return new FactorTracker(baseValue, factor, maxUpdates == null ? Integer.MAX_VALUE : maxUpdates);
            }
            if (maxUpdates != null) {
                throw new IllegalArgumentException("both minValue and maxUpdates are set, expected one of them");
            }
            if (!(min > 0 && min < baseValue)) {
                throw new IllegalArgumentException(
                        "minValue is " + min + ", expected above 0, and below baseValue, which is " + baseValue);
            }
            double last = Math.rint(Math.log(min / baseValue) / Math.log(factor));
            return new FactorTracker(baseValue, factor, (int) Math.min(last, Integer.MAX_VALUE));
        }
    }
}
