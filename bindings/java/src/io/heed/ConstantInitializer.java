// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Makes all elements the same. */
public final class ConstantInitializer implements Initializer {
    private final float value;

    /**
     * Makes an initializer.
     *
     * @param value every element's value
     */
    public ConstantInitializer(float value) {
        this.value = value;
    }

    @Override
    public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
        return manager.full(shape, value, dataType);
    }
}
