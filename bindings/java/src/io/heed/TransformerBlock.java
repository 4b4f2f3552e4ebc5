// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.Objects;

/** A layer of a Transformer's encoder or decoder, or a stack of such layers. */
abstract class TransformerBlock extends NativeBlock {
    private final boolean decodes;

    TransformerBlock(String kind, boolean decodes) {
        super(kind);
        this.decodes = decodes;
    }

    /** The rows may come with what a list may have further; any of it may also be null. */
    @Override
    final void checkInputs(Object[] inputs, String found) {
        if (decodes && (inputs.length == 0 || inputs.length > 3)) {
            throw new IllegalArgumentException(
                    found + ", expected 1 to 3: x and, optional, memory and memoryValidLens");
        }
        if (!decodes && (inputs.length == 0 || inputs.length > 2)) {
            throw new IllegalArgumentException(found + ", expected 1 or 2: x and, optional, validLens");
        }
        Objects.requireNonNull(inputs[0], "x");
    }

    @Override
    final <T> T[] inOrder(T[] inputs) {
        T[] placed = Arrays.copyOf(inputs, AttentionInputs.indexOfValidLens() + 1);
        Arrays.fill(placed, 1, placed.length, null);
        int place = decodes ? AttentionInputs.indexOfKeys() : AttentionInputs.indexOfValidLens();
        for (int i = 1; i < inputs.length; i++) {
            placed[place] = inputs[i];
            place = AttentionInputs.indexOfValidLens();
        }
        return placed;
    }

    @Override
    final Wanted smallestOutput() {
        return Wanted.OUTPUT;
    }
}
