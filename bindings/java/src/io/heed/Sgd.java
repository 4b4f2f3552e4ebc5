// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Stochastic gradient descent, as PyTorch's SGD without dampening. With the weight decay wd and the learning rate lr, a
 * step computes
 *
 * <pre>
 * g = gradient + wd * p
 * b = momentum * b + g       0 before the first step
 * p = p - lr * b
 * </pre>
 */
public final class Sgd extends Optimizer {
    private final float momentum;

    private Sgd(Builder builder) {
        super(builder);
        momentum = builder.momentum;
        check();
    }

    /**
     * Begins gradient descent.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    NativeOptimizer newState(NativeContext context) {
        try (NativeSgdOptions options = new NativeSgdOptions()) {
            options.setMomentum(decimal(momentum));
            options.setWeightDecay(weightDecays());
            return HeedNative.heed_sgd_create(context, options);
        }
    }

    @Override
    public String toString() {
        return "Sgd(momentum=" + momentum + ", weightDecays=" + weightDecays() + ")";
    }

    /** Makes gradient descent. */
    public static final class Builder extends OptimizerBuilder<Builder> {
        private float momentum;

        Builder() {}

        @Override
        public String toString() {
            return "Sgd.Builder(momentum=" + momentum + ", weightDecays=" + decimal(weightDecays()) + ")";
        }

        @Override
        Builder self() {
            return this;
        }

        /**
         * Sets the learning rate, which is required.
         *
         * @param learningRateTracker its value in each step, of at least 0
         * @return this
         */
        public Builder setLearningRateTracker(Tracker learningRateTracker) {
            return track(learningRateTracker);
        }

        /**
         * Sets the momentum.
         *
         * @param momentum the share of the last change that a step repeats; 0, the default, for none
         * @return this
         */
        public Builder optMomentum(float momentum) {
            this.momentum = momentum;
            return this;
        }

        /**
         * Makes the optimizer.
         *
         * @return the optimizer
         * @throws NullPointerException if the learning rate was not set
         * @throws IllegalArgumentException if a number is out of range
         */
        public Sgd build() {
            return new Sgd(this);
        }
    }
}
