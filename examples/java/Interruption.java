// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.CountDownLatch;

/**
 * Makes Ctrl+C interrupt the thread that trains, which then stops between two steps, and lets it end its work: while this
 * is open, the Java machine waits for it.
 */
final class Interruption implements AutoCloseable {
    private final CountDownLatch closed = new CountDownLatch(1);

    Interruption() {
        Thread trains = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            if (closed.getCount() > 0) {
                trains.interrupt();
                awaitClosed();
            }
        }));
    }

    private void awaitClosed() {
        try {
            closed.await();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
