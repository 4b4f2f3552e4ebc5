// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** A layer with one input. */
abstract class SingleInputBlock extends NativeBlock {
    SingleInputBlock(String kind) {
        super(kind);
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
