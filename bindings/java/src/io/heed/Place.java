// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** A context, and what it was opened with. */
final class Place {
    final NativeContext context;
    final Device device;
    final ContextOptions options;

    Place(NativeContext context, Device device, ContextOptions options) {
        this.context = context;
        this.device = device;
        this.options = options;
    }

    /** The one that all blocks begin in. */
    static Place first() {
        return new Place(Library.context(), Device.cpu(), ContextOptions.DEFAULTS);
    }

    /** Whether the same is computed in both. */
    boolean isLike(Place other) {
        return device.equals(other.device) && options.equals(other.options);
    }
}
