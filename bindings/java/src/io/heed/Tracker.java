// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A number that changes from step to step, such as the learning rate of an {@link Optimizer}. The same number of a step
 * always gives the same value, so that training goes on from saved state as if it had never stopped. A lambda is one,
 * too:
 *
 * <pre>{@code
 * Tracker warmUp = step -> 1e-3f * Math.min(1, step / 4000f);
 * }</pre>
 */
@FunctionalInterface
public interface Tracker {
    /**
     * Returns the value of a step.
     *
     * @param numUpdate the number of the step, from 1 on
     * @return the value
     */
    float getNewValue(int numUpdate);

    /**
     * Makes a tracker of one value.
     *
     * @param value the value of all steps
     * @return the tracker
     */
    static Tracker fixed(float value) {
        return numUpdate -> value;
    }

    /**
     * Begins a tracker whose value is multiplied by a factor in each step.
     *
     * @return a builder
     */
    static FactorTracker.Builder factor() {
        return FactorTracker.builder();
    }

    /**
     * Begins a tracker whose value is multiplied by a factor after some of the steps.
     *
     * @return a builder
     */
    static MultiFactorTracker.Builder multiFactor() {
        return MultiFactorTracker.builder();
    }

    /**
     * Begins a tracker whose value grows or shrinks by the same number in each step.
     *
     * @return a builder
     */
    static LinearTracker.Builder linear() {
        return LinearTracker.builder();
    }

    /**
     * Begins a tracker whose value falls along half a wave of the cosine.
     *
     * @return a builder
     */
    static CosineTracker.Builder cosine() {
        return CosineTracker.builder();
    }
}
