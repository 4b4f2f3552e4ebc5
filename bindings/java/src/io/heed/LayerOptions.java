// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Options of a {@link BuiltBlock}.
 *
 * @param <B> the builder
 */
abstract class LayerOptions<B extends LayerOptions<B>> extends CopiedOptions<B> {
    LayerOptions() {}

    /** Makes a layer without parameters. The structs are closed after the call. Throws if an option is invalid. */
    abstract NativeLayer newLayer(NativeContext context, NativeStructs structs);
}
