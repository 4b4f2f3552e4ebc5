// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.concurrent.CountDownLatch;

/** A thread that makes the same call again and again until it throws. */
final class RepeatedCalls {
    interface Call {
        void make() throws Exception;
    }

    private final CountDownLatch firstHasEnded = new CountDownLatch(1);
    private final Thread thread;
    private Throwable end;

    /** Returns when the first call has ended. */
    RepeatedCalls(Call call) throws InterruptedException {
        thread = new Thread(() -> {
            try {
                for (;;) {
                    call.make();
                    firstHasEnded.countDown();
                }
            } catch (Throwable error) {
                end = error;
                firstHasEnded.countDown();
            }
        });
        thread.start();
        firstHasEnded.await();
    }

    /** Waits until a call throws, and returns what it threw. */
    Throwable end() throws InterruptedException {
        thread.join();
        return end;
    }
}
