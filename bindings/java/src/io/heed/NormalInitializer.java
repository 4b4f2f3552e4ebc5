// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** Draws elements from a normal distribution with mean 0. */
public final class NormalInitializer implements Initializer {
    private final float sigma;

    /** Makes an initializer with a standard deviation of 0.01. */
    public NormalInitializer() {
        this(0.01f);
    }

    /**
     * Makes an initializer.
     *
     * @param sigma the standard deviation
     */
    public NormalInitializer(float sigma) {
        this.sigma = sigma;
    }

    @Override
    public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
        return Objects.requireNonNull(manager, "manager").randomNormal(0, sigma, shape, dataType);
    }
}
