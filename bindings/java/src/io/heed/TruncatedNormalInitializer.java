// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * Draws elements from a truncated normal distribution with mean 0: an element further than two standard deviations from
 * 0 is drawn again.
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
     * @param sigma the standard deviation before truncation
     */
    public TruncatedNormalInitializer(float sigma) {
        this.sigma = sigma;
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException if the standard deviation is negative or not finite
     */
    @Override
    public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
        Objects.requireNonNull(manager, "manager");
        Objects.requireNonNull(shape, "shape");
        Objects.requireNonNull(dataType, "dataType");
        float[] numbers = new float[Math.toIntExact(shape.size())];
        int kept = 0;
        while (kept < numbers.length) {
            Shape missing = new Shape(numbers.length - kept);
            try (NDArray drawn = manager.randomNormal(0, sigma, missing, DataType.FLOAT32)) {
                for (float number : drawn.toFloatArray()) {
                    if (Math.abs(number) <= 2 * sigma) {
                        numbers[kept++] = number;
                    }
                }
            }
        }
        try (NDArray floats = manager.create(numbers, shape)) {
            return floats.toType(dataType, true);
        }
    }
}
