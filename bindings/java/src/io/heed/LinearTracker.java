// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** A value on a line: value + n * slope in step n, until a last value or a last step. */
public final class LinearTracker implements Tracker {
    private final float baseValue;
    private final float slope;
    private final int maxUpdates;

    private LinearTracker(float baseValue, float slope, int maxUpdates) {
        this.baseValue = baseValue;
        this.slope = slope;
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
        return baseValue + Math.min(numUpdate, maxUpdates) * slope;
    }

    /** Makes a tracker of this kind. */
    public static final class Builder {
        private float baseValue;
        private float slope;
        private Float min;
        private Float max;
        private Integer maxUpdates;

        private Builder() {}

        @Override
        public String toString() {
            return "LinearTracker.Builder(baseValue=" + baseValue + ", slope=" + slope + ")";
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
         * Sets what each step adds, which is required.
         *
         * @param slope the number, below 0 for a value that falls
         * @return this
         */
        public Builder optSlope(float slope) {
            this.slope = slope;
            return this;
        }

        /**
         * Sets the largest value of a rising line: the value stays as it is from the step on that comes nearest to it.
         *
         * @param max the value; not together with {@link #optMinValue} or {@link #optMaxUpdates}
         * @return this
         */
        public Builder optMaxValue(float max) {
            this.max = max;
            return this;
        }

        /**
         * Sets the least value of a falling line: the value stays as it is from the step on that comes nearest to it.
         *
         * @param min the value; not together with {@link #optMaxValue} or {@link #optMaxUpdates}
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
         * @throws IllegalArgumentException if slope is 0, if there is more than one end of the line, or if it does not
         *     lead there
         */
        public LinearTracker build() {
            if (slope == 0 || Float.isNaN(slope)) {
                throw new IllegalArgumentException("slope is " + slope + ", expected another number");
            }
            int numEnds = (min == null ? 0 : 1) + (max == null ? 0 : 1) + (maxUpdates == null ? 0 : 1);
            if (numEnds > 1) {
                throw new IllegalArgumentException(
                        numEnds + " of minValue, maxValue and maxUpdates are set, expected at most one");
            }
            if (min == null && max == null) {
                return new LinearTracker(baseValue, slope, maxUpdates == null ? Integer.MAX_VALUE : maxUpdates);
            }
            float end = min == null ? max : min;
            if (min == null ? slope < 0 || end <= baseValue : slope > 0 || end >= baseValue) {
                throw new IllegalArgumentException((min == null ? "maxValue is " : "minValue is ") + end
                        + ", where a line does not come that begins at " + baseValue + " with a slope of " + slope);
            }
            return new LinearTracker(baseValue, slope, Math.round((end - baseValue) / slope));
        }
    }
}
