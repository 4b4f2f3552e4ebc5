// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The open context that a layer lives in, with its device and options. */
final class LayerContext {
    final NativeContext context;
    final Device device;
    final ContextOptions options;

    LayerContext(NativeContext context, Device device, ContextOptions options) {
        this.context = context;
        this.device = device;
        this.options = options;
    }

    /** The context of a layer that has not been moved to a device: the CPU with the default options. */
    static LayerContext initial() {
        return new LayerContext(Library.context(), Device.cpu(), ContextOptions.DEFAULTS);
    }

    /** Whether the device and the options are equal. */
    boolean isLike(LayerContext other) {
        return device.equals(other.device) && options.equals(other.options);
    }

    /** Whether calls on a device with options are computed as in this context; a logger computes nothing. */
    boolean computesLike(Device otherDevice, ContextOptions otherOptions) {
        return device.equals(otherDevice) && options.computesLike(otherOptions);
    }
}
