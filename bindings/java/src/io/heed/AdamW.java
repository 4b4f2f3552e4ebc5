// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.file.Path;

/**
 * AdamW (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019) as PyTorch computes it. With the weight
 * decay wd, which is 0.01 by default, and the learning rate lr, step t = 1, 2, ... of a parameter p computes
 *
 * <pre>
 * m = beta1 * m + (1 - beta1) * gradient
 * v = beta2 * v + (1 - beta2) * gradient^2
 * p = p - lr * (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + wd * p)
 * </pre>
 */
public final class AdamW extends Optimizer {
    private final double[] numbers;

    private AdamW(Builder builder) {
        super(builder);
        numbers = builder.numbers();
        check();
    }

    /**
     * Begins AdamW.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    NativeOptimizer newState(NativeContext context) {
        return AdamOptions.newState(context, numbers, weightDecays(), false, AdamOptions.CORRECTED);
    }

    @Override
    void checkKind(Path path) {
        AdamOptions.checkKind(path, "AdamW", false, AdamOptions.CORRECTED);
    }

    @Override
    public String toString() {
        return AdamOptions.describe("AdamW", numbers, weightDecays());
    }

    /** Makes AdamW. */
    public static final class Builder extends AdamOptions<Builder> {
        Builder() {
            optWeightDecays(0.01f);
        }

        @Override
        public String toString() {
            return AdamOptions.describe("AdamW.Builder", numbers(), decimal(weightDecays()));
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
        public AdamW build() {
            return new AdamW(this);
        }
    }
}
