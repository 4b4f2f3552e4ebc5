// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The device that tests run on whose subject is none: the CPU, or what HEED_TEST_DEVICE in the environment names. */
final class TestDevice {
    static final Device DEVICE = Device.fromName(System.getenv().getOrDefault("HEED_TEST_DEVICE", "cpu"));

    private TestDevice() {}

    static NDManager newManager() {
        return NDManager.newBaseManager(
                DEVICE, ContextOptions.builder().optAllowReducedPrecision(!DEVICE.isCpu()).build());
    }
}
