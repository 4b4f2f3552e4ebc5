// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.file.Path;

/**
 * The options of {@link Adam} and {@link AdamW}.
 *
 * @param <T> the builder
 */
abstract class AdamOptions<T extends AdamOptions<T>> extends Optimizer.OptimizerBuilder<T> {
    /** Where epsilon is added, as the native library numbers it: to the root after its bias is corrected, or before. */
    static final int CORRECTED = 0;

    static final int UNCORRECTED = 1;
    /** The options in a file, of which the last two are the kind of decay and the placement of epsilon. */
    private static final String OPTIONS = "adamw.options";

    private static final int NUM_OPTIONS = 7;

    private float beta1 = 0.9f;
    private float beta2 = 0.999f;
    private float epsilon = 1e-8f;

    AdamOptions() {
        track(Tracker.fixed(0.001f));
    }

    /**
     * Sets the learning rate.
     *
     * @param learningRateTracker its value in each step, of at least 0; the default is 0.001
     * @return this
     */
    public T optLearningRateTracker(Tracker learningRateTracker) {
        return track(learningRateTracker);
    }

    /**
     * Sets the share of the first moment that a step keeps.
     *
     * @param beta1 the share, at least 0 and below 1; the default is 0.9
     * @return this
     */
    public T optBeta1(float beta1) {
        this.beta1 = beta1;
        return self();
    }

    /**
     * Sets the share of the second moment that a step keeps.
     *
     * @param beta2 the share, at least 0 and below 1; the default is 0.999
     * @return this
     */
    public T optBeta2(float beta2) {
        this.beta2 = beta2;
        return self();
    }

    /**
     * Sets the number that is added to the root of the second moment.
     *
     * @param epsilon the number; the default is 1e-8
     * @return this
     */
    public T optEpsilon(float epsilon) {
        this.epsilon = epsilon;
        return self();
    }

    final double[] numbers() {
        return new double[] {Optimizer.decimal(beta1), Optimizer.decimal(beta2), Optimizer.decimal(epsilon)};
    }

    /** Makes the state of an optimizer with the numbers of its builder. */
    static NativeOptimizer newState(
            NativeContext context, double[] numbers, double weightDecays, boolean coupled, int placement) {
        try (NativeAdamWOptions options = new NativeAdamWOptions()) {
            options.setBeta1(numbers[0]);
            options.setBeta2(numbers[1]);
            options.setEpsilon(numbers[2]);
            options.setWeightDecay(weightDecays);
            options.setCoupledDecay(coupled ? 1 : 0);
            options.setEpsilonPlacement(placement);
            return HeedNative.heed_adamw_create(context, options);
        }
    }

    /** Throws if the options in a file are those of the other class. Whatever else is wrong with it C says. */
    static void checkKind(Path path, String kind, boolean coupled, int placement) {
        try (Weights weights = Weights.open(path)) {
            if (!weights.getNames().contains(OPTIONS)) {
                return;
            }
        }
        double[] numbers = new double[NUM_OPTIONS];
        try (NativeTensor options = NativeTensor.loadSafetensors(
                Library.context(), NativeText.of(path), NativeText.of(OPTIONS, "name"))) {
            if (DataType.of(options.dtype()) != DataType.FLOAT64 || options.rank() != 1 || options.dim(0) != NUM_OPTIONS) {
                return;
            }
            options.read(numbers);
        }
        if (numbers[NUM_OPTIONS - 2] != (coupled ? 1 : 0) || numbers[NUM_OPTIONS - 1] != placement) {
            throw new IllegalArgumentException("\"" + path + "\" is the file of another optimizer than " + kind
                    + ", whose decay or epsilon it has elsewhere: expected one of the same class");
        }
    }

    static String describe(String name, double[] numbers, double weightDecays) {
        return name + "(beta1=" + numbers[0] + ", beta2=" + numbers[1] + ", epsilon=" + numbers[2] + ", weightDecays="
                + weightDecays + ")";
    }
}
