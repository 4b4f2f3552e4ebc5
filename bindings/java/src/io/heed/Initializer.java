// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Makes the first values of a parameter. Set it on a block before {@link Block#initialize}. Without one, weights are
 * drawn as by {@link XavierInitializer#XavierInitializer()}, weights of norms are 1, and biases are 0. So are sinks,
 * bias_k, bias_v and the table of a relative bias of heed's own blocks.
 */
@FunctionalInterface
public interface Initializer {
    /** Sets every element to 0. */
    Initializer ZEROS = new ConstantInitializer(0);

    /** Sets every element to 1. */
    Initializer ONES = new ConstantInitializer(1);

    /**
     * Makes the values of one parameter.
     *
     * @param manager the manager to make arrays with. For a parameter of one of heed's own blocks, heed copies the
     *     values and then closes it; any other parameter keeps the returned array, and this manager owns it
     * @param shape the parameter's shape
     * @param dataType the parameter's type
     * @return an array of this shape and type; heed's own blocks also convert another type
     */
    NDArray initialize(NDManager manager, Shape shape, DataType dataType);
}
