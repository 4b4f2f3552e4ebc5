// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.FloatBuffer;

/**
 * The device for tests that are not about a device: the CPU, or the one that HEED_TEST_DEVICE in the environment names.
 */
final class TestDevice {
    static final Device DEVICE = Device.fromName(System.getenv().getOrDefault("HEED_TEST_DEVICE", "cpu"));

    private TestDevice() {}

    static NDManager newManager() {
        return NDManager.newBaseManager(
                DEVICE, ContextOptions.builder().optAllowReducedPrecision(!DEVICE.isCpu()).build());
    }

    /** The elements of a FLOAT32 array, without a copy if possible. */
    static FloatBuffer floats(NDArray array) {
        return DEVICE.isCpu() ? array.toFloatBuffer() : FloatBuffer.wrap(array.toFloatArray());
    }
}
