// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * A layer with one input.
 *
 * @param <B> the builder with its options
 */
abstract class SingleInputBlock<B extends LayerOptions<B>> extends BuiltBlock<B> {
    SingleInputBlock(String kind, B options) {
        super(kind, options);
    }

    @Override
    final void checkInputs(Object[] inputs, String found) {
        if (inputs.length != 1) {
            throw new IllegalArgumentException(found + ", expected 1");
        }
        Objects.requireNonNull(inputs[0], "the input");
    }

    @Override
    final Wanted smallestOutput() {
        return Wanted.OUTPUT;
    }
}
