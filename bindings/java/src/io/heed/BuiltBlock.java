// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A block of which all that is not in its layer is in its options.
 *
 * @param <B> the builder with the options
 */
abstract class BuiltBlock<B extends LayerOptions<B>> extends NativeBlock {
    final B options;

    /** Copies the options. */
    BuiltBlock(String kind, B options) {
        super(kind);
        this.options = options.copy();
    }

    /** Not final: javac then lets each public class below have it, where reflection may call it. */
    @Override
    public String toString() {
        return options.describe();
    }

    @Override
    final NativeLayer newLayer(NativeContext context) {
        try (NativeStructs structs = new NativeStructs()) {
            return options.newLayer(context, structs);
        }
    }
}
