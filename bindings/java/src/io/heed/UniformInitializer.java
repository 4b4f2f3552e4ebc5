// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** Draws elements uniformly between -scale and scale. */
public final class UniformInitializer implements Initializer {
    private final float scale;

    /** Makes an initializer with a scale of 0.07. */
    public UniformInitializer() {
        this(0.07f);
    }

    /**
     * Makes an initializer.
     *
     * @param scale the largest magnitude
     */
    public UniformInitializer(float scale) {
        this.scale = scale;
    }

    @Override
    public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
        return Objects.requireNonNull(manager, "manager").randomUniform(-scale, scale, shape, dataType);
    }
}
