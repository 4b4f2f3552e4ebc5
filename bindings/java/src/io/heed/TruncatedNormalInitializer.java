// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Draws elements from a normal distribution of mean 0 without its ends: what lies further than two standard deviations
 * from 0 is drawn again.
 */
public final class TruncatedNormalInitializer implements Initializer {
    private final float sigma;

    /** Makes an initializer with a standard deviation of 0.01. */
    public TruncatedNormalInitializer() {
        this(0.01f);
    }

    /**
     * Makes an initializer.
     *
     * @param sigma the standard deviation of the whole distribution
     */
    public TruncatedNormalInitializer(float sigma) {
        this.sigma = sigma;
    }

    @Override
    public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
        float[] numbers = new float[Math.toIntExact(shape.size())];
        int kept = 0;
        while (kept < numbers.length) {
            try (NDArray drawn = manager.randomNormal(new Shape(numbers.length - kept))) {
                for (float number : drawn.toFloatArray()) {
                    if (Math.abs(number) <= 2) {
                        numbers[kept++] = number * sigma;
                    }
                }
            }
        }
        return manager.create(numbers, shape).toType(dataType, false);
    }
}
