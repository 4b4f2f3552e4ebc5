// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** Sets all elements to the same value. */
public final class ConstantInitializer implements Initializer {
    private final float value;

    /**
     * Makes an initializer.
     *
     * @param value the value
     */
    public ConstantInitializer(float value) {
        this.value = value;
    }

    @Override
    public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
        return Objects.requireNonNull(manager, "manager").full(shape, value, dataType);
    }
}
