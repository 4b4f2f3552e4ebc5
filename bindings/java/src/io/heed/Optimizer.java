// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.file.Path;
import java.util.Objects;

/**
 * How a {@link Trainer} changes parameters by their gradients: {@link Sgd}, {@link Adam} or {@link AdamW} with its
 * options. Its state, such as moments, is each trainer's own, so that many may use one optimizer, on any threads.
 *
 * <p>Numbers are taken as the decimal numbers that the program has written: 0.9f is 0.9.
 */
public abstract class Optimizer {
    private final Tracker learningRateTracker;
    private final float weightDecays;
    private final float rescaleGrad;
    private final float clipGrad;

    /** Copies the options, and lets C check them. */
    Optimizer(OptimizerBuilder<?> builder) {
        learningRateTracker = Objects.requireNonNull(
                builder.learningRateTracker,
                "learningRateTracker is not set: call setLearningRateTracker, as with Tracker.fixed(0.1f)");
        weightDecays = builder.weightDecays;
        rescaleGrad = builder.rescaleGrad;
        clipGrad = builder.clipGrad;
        if (Float.isNaN(rescaleGrad) || Float.isInfinite(rescaleGrad)) {
            throw new IllegalArgumentException("rescaleGrad is " + rescaleGrad + ", expected a finite number");
        }
        if (Float.isNaN(clipGrad)) {
            throw new IllegalArgumentException("clipGrad is NaN, expected a number");
        }
    }

    /**
     * Begins gradient descent, with momentum if it is wanted.
     *
     * @return a builder
     */
    public static Sgd.Builder sgd() {
        return new Sgd.Builder();
    }

    /**
     * Begins Adam, whose weight decay is added to the gradients.
     *
     * @return a builder
     */
    public static Adam.Builder adam() {
        return new Adam.Builder();
    }

    /**
     * Begins AdamW, whose weight decay does not depend on the gradients.
     *
     * @return a builder
     */
    public static AdamW.Builder adamW() {
        return new AdamW.Builder();
    }

    /** Makes the state, without any parameters so far. Throws if an option is out of range. */
    abstract NativeOptimizer newState(NativeContext context);

    /** Throws if a file is that of an optimizer which C takes for one of this class. */
    void checkKind(Path path) {}

    /** Throws if an option is out of range. The last step of every constructor. */
    final void check() {
        newState(Library.context()).close();
    }

    /** The learning rate of a step; steps are counted from 1 on. */
    final double learningRate(long step) {
        return decimal(learningRateTracker.getNewValue((int) Math.min(step, Integer.MAX_VALUE)));
    }

    final double weightDecays() {
        return decimal(weightDecays);
    }

    /** Scales and clips gradients before a step. */
    final void prepare(ParameterGradients gradients) {
        if (rescaleGrad != 1) {
            gradients.scale(decimal(rescaleGrad));
        }
        if (clipGrad >= 0 && clipGrad < Float.POSITIVE_INFINITY) {
            gradients.clipElements(decimal(clipGrad));
        }
    }

    /** The shortest decimal number of a float. A program in C or C# would write it as a double. */
    static double decimal(float number) {
        return Double.parseDouble(Float.toString(number));
    }

    /**
     * The options of all optimizers.
     *
     * @param <T> the builder
     */
    public abstract static class OptimizerBuilder<T extends OptimizerBuilder<T>> {
        private Tracker learningRateTracker;
        private float weightDecays;
        private float rescaleGrad = 1;
        private float clipGrad = -1;

        OptimizerBuilder() {}

        abstract T self();

        final float weightDecays() {
            return weightDecays;
        }

        final T track(Tracker tracker) {
            learningRateTracker = Objects.requireNonNull(tracker, "learningRateTracker");
            return self();
        }

        /**
         * Sets the weight decay.
         *
         * @param weightDecays the share of each parameter by which a step makes it smaller, times the learning rate; 0,
         *     the default of all but AdamW, for none
         * @return this
         */
        public T optWeightDecays(float weightDecays) {
            this.weightDecays = weightDecays;
            return self();
        }

        /**
         * Sets a factor of all gradients, such as 1 / batch size if the loss is a sum over the batch.
         *
         * @param rescaleGrad the factor; the default is 1
         * @return this
         */
        public T setRescaleGrad(float rescaleGrad) {
            this.rescaleGrad = rescaleGrad;
            return self();
        }

        /**
         * Sets the largest magnitude of each element of the gradients, after their factor: larger ones are replaced by
         * it, or by its negative. {@link Trainer#clipGradients} limits the norm of all gradients instead.
         *
         * @param clipGrad the magnitude; below 0, the default, for any
         * @return this
         */
        public T optClipGrad(float clipGrad) {
            this.clipGrad = clipGrad;
            return self();
        }
    }
}
