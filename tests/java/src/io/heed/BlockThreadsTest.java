// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Test;

/** One block used by many threads: each forward uses the parameters of one moment, whatever other threads do. */
class BlockThreadsTest {
    private static final int ROUNDS = 300;
    /** Fewer than ROUNDS: on the simulated NPU a round takes 0.2 seconds, since it waits for forwards of the other threads. */
    private static final int CLEARINGS = 60;

    private final AtomicReference<Throwable> wrong = new AtomicReference<>();
    private final AtomicBoolean over = new AtomicBoolean();
    private final AtomicInteger forwards = new AtomicInteger();

    private interface Work {
        void run() throws Exception;
    }

    /** The weights are all 1 or all 2; no result may be computed from both. */
    @Test
    void parametersAreReplacedWhileForwardsRun() throws Exception {
        try (NDManager manager = TestDevice.newManager();
                Linear linear = Linear.builder().setUnits(64).optBias(false).build()) {
            NDArray x = manager.ones(new Shape(4, 64));
            NDArray[] values = {manager.ones(new Shape(64, 64)), manager.full(new Shape(64, 64), 2)};
            linear.getParameters().get("weight").setArray(values[0]);
            ParameterStore ps = new ParameterStore();
            List<Thread> threads = forwards(() -> assertAlike(64, linear.forward(ps, new NDList(x), false)));
            AttentionInputs inputs = new AttentionInputs().setQueries(x);
            threads.addAll(forwards(() -> {
                AttentionOutputs outputs = linear.createOutputs(inputs);
                linear.forward(inputs, outputs, null);
                assertAlike(64, new NDList(outputs.getOutput()));
            }));
            for (int round = 0; round < ROUNDS; round++) {
                NDArray value = values[round % 2];
                if (round % 3 == 0) {
                    linear.getParameters().get("weight").setArray(value);
                } else if (round % 3 == 1) {
                    value.copyTo(linear.getParameters().get("weight").getArray());
                } else {
                    linear.cast(DataType.FLOAT32);
                }
            }
            end(threads);
        }
    }

    /** While the block has no parameters a forward throws the documented exception, and nothing else happens. */
    @Test
    void parametersAreClearedAndSetWhileForwardsRun() throws Exception {
        try (NDManager manager = TestDevice.newManager();
                MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, false)) {
            NDArray x = manager.ones(new Shape(2, 3, 8));
            NDList inputs = new NDList(x, x, x);
            attention.setInitializer(Initializer.ONES, Parameter.Type.WEIGHT);
            List<Thread> threads = forwards(() -> {
                try {
                    assertAlike(64, attention.forward(new ParameterStore(), inputs, false));
                } catch (IllegalStateException error) {
                    String message = error.getMessage();
                    assertTrue(message.contains("is not set") || message.contains("is closed"), message);
                }
            });
            for (int round = 0; round < CLEARINGS; round++) {
                try (NDManager owner = manager.newSubManager()) {
                    attention.initialize(owner, DataType.FLOAT32, inputs.getShapes());
                    if (round % 2 == 0) {
                        attention.clear();
                        attention.initialize(owner, DataType.FLOAT32, inputs.getShapes());
                    }
                }
            }
            end(threads);
        }
    }

    /** If many threads initialize one block, one of them draws the parameters. */
    @Test
    void oneOfManyInitializes() throws Exception {
        try (NDManager manager = TestDevice.newManager()) {
            Shape shape = new Shape(2, 8);
            for (int round = 0; round < 50; round++) {
                Linear linear = Linear.builder().setUnits(8).build();
                List<NDArray> seen = new ArrayList<>();
                List<Thread> threads = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    threads.add(thread(() -> {
                        linear.initialize(manager, DataType.FLOAT32, shape);
                        NDArray weight = linear.getParameters().get("weight").getArray();
                        synchronized (seen) {
                            seen.add(weight);
                        }
                    }));
                }
                for (Thread thread : threads) {
                    thread.join();
                }
                assertNull(wrong.get(), () -> String.valueOf(wrong.get()));
                assertEquals(4, seen.size());
                for (NDArray weight : seen) {
                    assertTrue(weight.contentEquals(seen.get(0)));
                }
                linear.close();
            }
        }
    }

    @Test
    void closeDuringForwards() throws Exception {
        for (int round = 0; round < 60; round++) {
            NDManager manager = TestDevice.newManager();
            NDArray x = manager.ones(new Shape(2, 32, 16));
            AdditiveAttention attention = new AdditiveAttention(8, 0.1f);
            attention.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
            AttentionInputs inputs = new AttentionInputs().setQueries(x).setTraining(true);
            AtomicReference<Throwable> end = new AtomicReference<>();
            AtomicInteger calls = new AtomicInteger();
            Thread thread = thread(() -> {
                AttentionOutputs outputs = attention.createOutputs(inputs);
                try (Workspace workspace = manager.newWorkspace(attention.workspaceSize(inputs, outputs))) {
                    for (;;) {
                        attention.forward(inputs, outputs, workspace);
                        calls.incrementAndGet();
                    }
                } catch (IllegalStateException error) {
                    end.set(error);
                }
            });
            while (calls.get() == 0 && wrong.get() == null) {
                Thread.yield();
            }
            if (round % 2 == 0) {
                attention.close();
            } else {
                manager.close();
            }
            thread.join();
            assertNull(wrong.get(), () -> String.valueOf(wrong.get()));
            assertTrue(end.get().getMessage().contains("is closed"), end.get().getMessage());
            manager.close();
            attention.close();
        }
    }

    private List<Thread> forwards(Work work) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            threads.add(thread(() -> {
                while (!over.get()) {
                    work.run();
                    forwards.incrementAndGet();
                }
            }));
        }
        return threads;
    }

    private void end(List<Thread> threads) throws InterruptedException {
        int before = forwards.get();
        while (forwards.get() < before + 20 && wrong.get() == null) {
            Thread.yield();
        }
        over.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        assertNull(wrong.get(), () -> String.valueOf(wrong.get()));
    }

    private Thread thread(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Throwable error) {
                wrong.compareAndSet(null, error);
            }
        });
        thread.start();
        return thread;
    }

    /** All elements are equal: this number or twice it. */
    private static void assertAlike(float unit, NDList list) {
        try (NDArray result = list.singletonOrThrow()) {
            float[] numbers = result.toFloatArray();
            assertTrue(numbers[0] == unit || numbers[0] == 2 * unit, String.valueOf(numbers[0]));
            for (float number : numbers) {
                assertEquals(numbers[0], number);
            }
        }
    }
}
