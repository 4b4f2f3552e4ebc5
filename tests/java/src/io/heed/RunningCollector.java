// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.concurrent.locks.LockSupport;

/** A thread that collects garbage again and again. */
final class RunningCollector {
    private RunningCollector() {}

    /** Makes a call while the collector runs. */
    static void during(RepeatedCalls.Call call) throws Exception {
        Thread collector = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                System.gc();
                // A collection stops all other threads, so the calls need pauses to run in. An interrupt ends the pause.
                LockSupport.parkNanos(1_000_000);
            }
        });
        collector.start();
        try {
            call.make();
        } finally {
            collector.interrupt();
            collector.join();
        }
    }
}
