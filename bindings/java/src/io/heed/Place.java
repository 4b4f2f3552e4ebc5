// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** An open context, with its device and options. */
final class Place {
    final NativeContext context;
    final Device device;
    final ContextOptions options;

    Place(NativeContext context, Device device, ContextOptions options) {
        this.context = context;
        this.device = device;
        this.options = options;
    }

    /** The context in which all blocks begin. */
    static Place first() {
        return new Place(Library.context(), Device.cpu(), ContextOptions.DEFAULTS);
    }

    /** Whether the device and the options are equal. */
    boolean isLike(Place other) {
        return device.equals(other.device) && options.equals(other.options);
    }
}
