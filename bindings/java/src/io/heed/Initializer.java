// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Makes a parameter's first values. Set on a block before {@link Block#initialize}; without one, weights are drawn as
 * by {@link XavierInitializer#XavierInitializer()} and biases are 0.
 */
@FunctionalInterface
public interface Initializer {
    /** Every element is 0. */
    Initializer ZEROS = NDManager::zeros;

    /** Every element is 1. */
    Initializer ONES = NDManager::ones;

    /**
     * Makes the values of one parameter.
     *
     * @param manager the manager to make arrays with, closed once the values are copied into the block
     * @param shape the parameter's shape
     * @param dataType the parameter's type
     * @return an array of this shape; another type is converted
     */
    NDArray initialize(NDManager manager, Shape shape, DataType dataType);
}
