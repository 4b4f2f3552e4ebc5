// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** Control of the simulated NPU: see tests/ascend_sim/include/ascend_sim/control.h. */
final class Simulator {
    /** How long the collector may take to find forgotten objects. */
    private static final long PATIENCE_MS = 20_000;

    /** 32 blocks of 3 MiB. */
    private static final long TAKEN_BY_ATB = 32 * (3L << 20);

    static {
        System.load(System.getProperty("heed.simulator"));
    }

    private Simulator() {}

    /** Objects and memory that are alive on the device, one per line. */
    static native String leaks();

    /** Calls with undefined behaviour on a real NPU, one per line. */
    static native String violations();

    static native long count(String what);

    static native void setFaults(String list);

    /** The least duration of each task on a stream. */
    static native void delayTasks(int microseconds);

    /** Limits the device's free memory to this many bytes, with one context of ATB open. */
    static void leaveRoomFor(long numBytes) {
        setFaults("memory=" + (TAKEN_BY_ATB + count("bytes_allocated") + numBytes));
    }

    /**
     * After all managers have been closed and the collector has freed forgotten objects, nothing is left on the device.
     */
    static void assertNothingIsLeft() throws InterruptedException {
        setFaults("");
        delayTasks(0);
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (!leaks().isEmpty() && System.currentTimeMillis() < end) {
            System.gc();
            Thread.sleep(20);
        }
        assertEquals("", leaks());
        assertEquals("", violations());
    }
}
