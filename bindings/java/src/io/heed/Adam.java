// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.file.Path;

/**
 * Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015) as DJL computes it. With the weight decay wd
 * and the learning rate lr, step t = 1, 2, ... of a parameter p computes
 *
 * <pre>
 * g = gradient + wd * p
 * m = beta1 * m + (1 - beta1) * g
 * v = beta2 * v + (1 - beta2) * g^2
 * p = p - lr * m / (1 - beta1^t) * sqrt(1 - beta2^t) / (sqrt(v) + epsilon)
 * </pre>
 *
 * PyTorch adds epsilon to sqrt(v / (1 - beta2^t)); for gradients far above epsilon it is the same.
 */
public final class Adam extends Optimizer {
    private final double[] numbers;

    private Adam(Builder builder) {
        super(builder);
        numbers = builder.numbers();
        check();
    }

    /**
     * Begins Adam.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    NativeOptimizer newState(NativeContext context) {
        return AdamOptions.newState(context, numbers, weightDecays(), true, AdamOptions.UNCORRECTED);
    }

    @Override
    void checkKind(Path path) {
        AdamOptions.checkKind(path, "Adam", true, AdamOptions.UNCORRECTED);
    }

    @Override
    public String toString() {
        return AdamOptions.describe("Adam", numbers, weightDecays());
    }

    /** Makes Adam. */
    public static final class Builder extends AdamOptions<Builder> {
        Builder() {}

        @Override
        public String toString() {
            return AdamOptions.describe("Adam.Builder", numbers(), decimal(weightDecays()));
        }

        @Override
        Builder self() {
            return this;
        }

        /**
         * Makes the optimizer.
         *
         * @return the optimizer
         * @throws IllegalArgumentException if a number is out of range
         */
        public Adam build() {
            return new Adam(this);
        }
    }
}
