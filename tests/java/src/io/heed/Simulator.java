// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;

/** The simulated NPU, seen from behind: see tests/ascend_sim/include/ascend_sim/control.h. */
final class Simulator {
    /** How long the collector may take to find what was forgotten. */
    private static final long PATIENCE_MS = 20_000;

    /** 32 blocks of 3 MiB. */
    private static final long TAKEN_BY_ATB = 32 * (3L << 20);

    static {
        System.load(System.getProperty("heed.simulator"));
    }

    private Simulator() {}

    /** What is alive on the device, a line each. */
    static native String leaks();

    /** What undefined behaviour on a real NPU would have been, a line each. */
    static native String violations();

    static native long count(String what);

    static native void setFaults(String list);

    /** How long each task of a stream takes at least. */
    static native void delayTasks(int microseconds);

    /** The device has room for so many bytes more, while one context of ATB is open. */
    static void leaveRoomFor(long numBytes) {
        setFaults("memory=" + (TAKEN_BY_ATB + count("bytes_allocated") + numBytes));
    }

    /** After all managers are closed: nothing is left on the device once the collector has seen what was forgotten. */
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
