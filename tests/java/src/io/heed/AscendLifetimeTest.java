// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Arrays and blocks on an NPU that are closed at any time or forgotten, and a device that is lost. */
class AscendLifetimeTest {
    private static final ContextOptions REDUCED =
            ContextOptions.builder().optAllowReducedPrecision(true).build();
    private static final Shape SHAPE = new Shape(2, 16, 32);
    private static final Shape ONE_MEBIBYTE = new Shape(1 << 18);

    private final ParameterStore store = new ParameterStore();

    @AfterEach
    void nothingIsLeft() throws InterruptedException {
        Simulator.assertNothingIsLeft();
    }

    /** Everything that a forward uses is closed while the device is still computing. */
    @Test
    void closeDuringAForward() throws Exception {
        Simulator.delayTasks(300);
        for (int round = 0; round < 20; round++) {
            NDManager manager = NDManager.newBaseManager(Device.ascend(), REDUCED);
            MultiHeadAttention attention = new MultiHeadAttention(32, 4, 0, false);
            NDArray x = manager.randomNormal(SHAPE);
            attention.initialize(manager, DataType.FLOAT32, SHAPE, SHAPE, SHAPE);
            RepeatedCalls calls = new RepeatedCalls(() -> attention.forward(store, new NDList(x, x, x), false).close());
            Thread.sleep(0, 100_000 * (round % 10));
            AutoCloseable[] closed = {x, attention, manager};
            closed[round % closed.length].close();
            Throwable end = calls.end();
            assertEquals(IllegalStateException.class, end.getClass(), () -> String.valueOf(end));
            manager.close();
            attention.close();
        }
    }

    /** The device has memory for only a few of the arrays: before an allocation fails, forgotten arrays are freed. */
    @Test
    void forgottenArraysAreFreedBeforeACallFails() {
        try (NDManager manager = NDManager.newBaseManager(Device.ascend(), REDUCED)) {
            manager.ones(new Shape(1)).close();
            Simulator.leaveRoomFor(32 << 20);
            try (NDManager kept = manager.newSubManager()) {
                NDList arrays = new NDList();
                assertThrows(OutOfMemoryError.class, () -> {
                    for (int i = 0; i < 300; i++) {
                        arrays.add(kept.zeros(ONE_MEBIBYTE));
                    }
                });
            }
            for (int i = 0; i < 300; i++) {
                manager.zeros(ONE_MEBIBYTE).reshape(-1, 2);
            }
        }
    }

    @Test
    void aForgottenManager() throws Exception {
        NDManager.newBaseManager(Device.ascend()).ones(new Shape(3)).toDevice(Device.cpu(), false);
        NDManager.newBaseManager().ones(new Shape(3)).toDevice(Device.ascend(), false);
    }

    @Test
    void aLostDevice() {
        NDManager manager = NDManager.newBaseManager(Device.ascend(), REDUCED);
        NDArray x = manager.ones(SHAPE);
        try (MultiHeadAttention attention = new MultiHeadAttention(32, 4, 0, false)) {
            attention.initialize(manager, DataType.FLOAT32, SHAPE, SHAPE, SHAPE);
            attention.forward(store, new NDList(x, x, x), false);
            Simulator.setFaults("kernel=1:507015");
            HeedException error = assertThrows(HeedException.class, () -> {
                attention.forward(store, new NDList(x, x, x), false).head().toFloatArray();
            });
            assertEquals(Status.DEVICE_LOST, error.getStatus());
            String sentence = error.getMessage();
            assertTrue(sentence.contains("ascend:0") && sentence.contains("507015"), sentence);
            error = assertThrows(HeedException.class, x::toFloatArray);
            assertEquals(Status.DEVICE_LOST, error.getStatus());
            assertThrows(HeedException.class, manager::synchronize);
        }
        manager.close();
        // After all its objects have been closed, the device can be opened again.
        try (NDManager again = NDManager.newBaseManager(Device.ascend())) {
            assertArrayEquals(new float[] {1, 1}, again.ones(new Shape(2)).toFloatArray());
        }
    }

    /** Each thread uses its own arrays, on one device. */
    @Test
    void manyThreads() throws Exception {
        Thread[] threads = new Thread[4];
        AtomicReference<Throwable> failure = new AtomicReference<>();
        try (NDManager manager = NDManager.newBaseManager(Device.ascend(), REDUCED);
                MultiHeadAttention attention =
                        MultiHeadAttention.builder().setNumHiddens(32).setNumHeads(4).build()) {
            attention.initialize(manager, DataType.FLOAT32, SHAPE, SHAPE, SHAPE);
            NDArray x = manager.randomNormal(SHAPE);
            float[] expected = attention.forward(store, new NDList(x, x, x), false).head().toFloatArray();
            for (int t = 0; t < threads.length; t++) {
                threads[t] = new Thread(() -> {
                    try {
                        for (int i = 0; i < 20; i++) {
                            try (NDManager scope = manager.newSubManager()) {
                                NDArray own = scope.create(x.toFloatArray(), SHAPE);
                                assertArrayEquals(
                                        expected,
                                        attention
                                                .forward(store, new NDList(own, own, own), false)
                                                .head()
                                                .toFloatArray());
                            }
                        }
                    } catch (Throwable error) {
                        failure.set(error);
                    }
                });
                threads[t].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(null, failure.get());
        }
    }
}
