// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** When objects are freed: never during a call, never twice, and finally even when they are forgotten. */
class LifetimeTest {
    private static final String BLOCK_CLOSED = "the block, or the manager that it was initialized with, is closed";

    @Test
    void aClosedBlockCannotBeUsed(@TempDir Path folder) {
        try (NDManager manager = TestDevice.newManager()) {
            NDArray x = manager.ones(new Shape(1, 2, 8));
            NDList inputs = new NDList(x, x, x);
            MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, false);
            attention.initialize(manager, DataType.FLOAT32, inputs.getShapes());
            attention.close();
            attention.close();
            for (Executable use : new Executable[] {
                () -> attention.forward(new ParameterStore(), inputs, false),
                () -> attention.initialize(manager, DataType.FLOAT32, inputs.getShapes()),
                () -> attention.load(TestFiles.golden("d2l"), "attention"),
                () -> attention.save(folder.resolve("weights")),
                attention::isInitialized
            }) {
                assertEquals(BLOCK_CLOSED, assertThrows(IllegalStateException.class, use).getMessage());
            }
        }
    }

    @Test
    void aClosedInputIsRefused() {
        try (NDManager manager = TestDevice.newManager()) {
            MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, false);
            Shape shape = new Shape(1, 2, 8);
            attention.initialize(manager, DataType.FLOAT32, shape, shape, shape);
            String[] names = {"queries", "keys", "values", "validLens"};
            for (int closed = 0; closed < 4; closed++) {
                NDList inputs = new NDList(
                        manager.ones(shape), manager.ones(shape), manager.ones(shape), manager.create(new int[] {2}));
                inputs.get(closed).close();
                assertEquals(
                        "the array " + names[closed] + " is closed",
                        assertThrows(
                                        IllegalStateException.class,
                                        () -> attention.forward(new ParameterStore(), inputs, false))
                                .getMessage());
            }
        }
    }

    /**
     * Objects that a call uses are closed on another thread at any moment: each call gives its result or throws "is
     * closed".
     */
    @Test
    void closeDuringACall() throws Exception {
        for (int round = 0; round < 120; round++) {
            NDManager manager = TestDevice.newManager();
            NDManager results = TestDevice.newManager();
            NDArray x = results.ones(new Shape(2, 64, 32));
            NDArray keys = manager.ones(new Shape(2, 64, 32));
            NDList inputs = new NDList(x, keys, keys, manager.create(new float[] {64, 40}));
            MultiHeadAttention attention = new MultiHeadAttention(32, 4, 0.1f, true);
            attention.initialize(results, DataType.FLOAT32, inputs.getShapes());

            RepeatedCalls calls = new RepeatedCalls(() -> {
                try (NDList result = attention.forward(new ParameterStore(), inputs, true)) {
                    result.head().toFloatArray();
                }
                attention.attention.attentionWeights.close();
            });
            Thread.sleep(0, 100_000 * (round % 10));
            AutoCloseable[] closed = {attention, keys, inputs.get(3), manager, results};
            closed[round % closed.length].close();
            Throwable end = calls.end();
            assertEquals(IllegalStateException.class, end.getClass(), () -> String.valueOf(end));
            assertTrue(end.getMessage().contains("is closed"), end.getMessage());
            manager.close();
            results.close();
            attention.close();
        }
    }

    /** The same for the arrays that say where packed rows are. */
    @Test
    void closeDuringAPackedCall() throws Exception {
        Rope rope = Rope.builder().setLayout(RopeLayout.HALF).build();
        for (int round = 0; round < 60; round++) {
            try (NDManager manager = TestDevice.newManager();
                    NDManager results = TestDevice.newManager();
                    MultiHeadAttention attention = MultiHeadAttention.builder()
                            .setNumHiddens(32)
                            .setNumHeads(4)
                            .optRope(rope)
                            .build()) {
                Shape any = new Shape(1, 64, 32);
                attention.initialize(results, DataType.FLOAT32, any, any, any);
                int[] positions = new int[64];
                NDArray[] closed = {
                    manager.create(new int[] {0, 40, 64}), manager.create(new int[] {0, 40, 64}),
                    manager.create(positions), manager.ones(new Shape(4))
                };
                AttentionInputs inputs = new AttentionInputs()
                        .setQueries(results.ones(new Shape(64, 32)))
                        .setKeys(results.ones(new Shape(64, 32)))
                        .setQueryOffsets(closed[0])
                        .setKeyOffsets(closed[1])
                        .setPositions(closed[2])
                        .setSinks(closed[3]);
                AttentionOutputs outputs = attention.createOutputs(inputs);
                RepeatedCalls calls = new RepeatedCalls(() -> attention.forward(inputs, outputs, null));
                Thread.sleep(0, 100_000 * (round % 10));
                closed[round % closed.length].close();
                Throwable end = calls.end();
                assertEquals(IllegalStateException.class, end.getClass(), () -> String.valueOf(end));
                assertTrue(end.getMessage().contains("is closed"), end.getMessage());
            }
        }
    }

    /**
     * The array, its manager, or an operand is closed during operations: each gives its result or throws "is closed".
     */
    @Test
    void closeDuringOperationsOnArrays() throws Exception {
        for (int round = 0; round < 60; round++) {
            NDManager manager = TestDevice.newManager();
            NDManager child = manager.newSubManager();
            NDArray a = child.randomNormal(new Shape(4, 32, 32));
            NDArray b = manager.randomNormal(new Shape(4, 32, 32));
            NDArray wrapped = TestDevice.DEVICE.isCpu()
                    ? manager.wrap(manager.allocateDirect(4 << 10).asFloatBuffer(), new Shape(32, 32))
                    : manager.zeros(new Shape(32, 32));
            RepeatedCalls calls = new RepeatedCalls(() -> {
                try (NDManager scope = manager.newSubManager()) {
                    NDArray product = a.matMul(b).softmax(-1).transpose(0, 2, 1).reshape(4, -1);
                    product.attach(scope);
                    FloatBuffer view = TestDevice.floats(product.duplicate());
                    wrapped.copyTo(a.get(0));
                    assertEquals(4 * 32 * 32, view.capacity());
                    view.put(0, view.get(view.capacity() - 1));
                }
            });
            Thread.sleep(0, 100_000 * (round % 10));
            AutoCloseable[] closed = {a, b, wrapped, child, manager};
            closed[round % closed.length].close();
            Throwable end = calls.end();
            assertEquals(IllegalStateException.class, end.getClass(), () -> String.valueOf(end));
            assertTrue(end.getMessage().endsWith("is closed"), end.getMessage());
            manager.close();
        }
    }

    /** Managers, arrays, views and wrapped memory, closed in any order: the others work until they are closed, too. */
    @Test
    @Tag("cpu")
    void closingInAnyOrder() {
        Random random = new Random(3);
        for (int round = 0; round < 300; round++) {
            NDManager manager = TestDevice.newManager();
            NDManager child = manager.newSubManager();
            NDArray array = manager.full(new Shape(64, 64), 3);
            NDArray view = child.full(new Shape(64, 64), 3).transpose();
            NDArray copy = array.duplicate();
            copy.attach(child);
            NDArray detached = array.get(0);
            detached.detach();
            NDArray wrapped = child.wrap(view.transpose().toFloatBuffer(), new Shape(64, 64));
            List<AutoCloseable> order =
                    new ArrayList<>(List.of(manager, child, array, view, copy, detached, wrapped, manager, child));
            Collections.shuffle(order, random);
            FloatBuffer kept = array.toFloatBuffer();
            List<NDArray> arrays = List.of(array, view, copy, detached, wrapped);
            for (AutoCloseable next : order) {
                try {
                    next.close();
                } catch (Exception error) {
                    throw new AssertionError(error);
                }
                for (NDArray each : arrays) {
                    if (!each.isReleased()) {
                        float[] elements = each.toFloatArray();
                        assertEquals(3, elements[elements.length - 1]);
                    }
                }
                assertEquals(3, kept.get(64 * 64 - 1));
            }
            arrays.forEach(each -> assertTrue(each.isReleased()));
        }
    }

    /** Arrays of a forgotten manager that are still used are closed with its parent. */
    @Test
    void aForgottenManagersBlockIsClosedWithItsParent() throws Exception {
        NDManager manager = TestDevice.newManager();
        MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, false);
        Shape shape = new Shape(1, 2, 8);
        attention.initialize(manager.newSubManager(), DataType.FLOAT32, shape, shape, shape);
        for (int i = 0; i < 10; i++) {
            System.gc();
            Thread.sleep(5);
        }
        assertTrue(attention.isInitialized());
        manager.close();
        assertFalse(attention.isInitialized());
    }

    /** isInitialized may be called at any moment of initialize, and of closing the manager. */
    @Test
    @Tag("cpu")
    void isInitializedDuringInitialize() throws Exception {
        try (MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, false)) {
            Shape shape = new Shape(1, 2, 8);
            AtomicReference<Throwable> wrong = new AtomicReference<>();
            Thread asking = new Thread(() -> {
                try {
                    while (!Thread.currentThread().isInterrupted()) {
                        attention.isInitialized();
                    }
                } catch (Throwable error) {
                    wrong.set(error);
                }
            });
            asking.start();
            for (int round = 0; round < 2000; round++) {
                try (NDManager manager = TestDevice.newManager()) {
                    attention.initialize(manager, DataType.FLOAT32, shape, shape, shape);
                }
            }
            asking.interrupt();
            asking.join();
            assertNull(wrong.get(), () -> String.valueOf(wrong.get()));
        }
    }

    @Test
    void closingFromManyThreadsFreesOnce() throws Exception {
        for (int round = 0; round < 200; round++) {
            NDManager manager = TestDevice.newManager();
            NDArray array = manager.ones(new Shape(1000));
            Thread[] threads = {
                new Thread(array::close), new Thread(manager::close),
                new Thread(array::close), new Thread(manager::close)
            };
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertThrows(IllegalStateException.class, array::toFloatArray);
        }
    }

    /** Two gigabytes of arrays that are never closed, in a manager that stays open. */
    @Test
    void forgottenArraysAreFreed() throws Exception {
        long before = ChildJvm.statusBytes("VmRSS");
        try (NDManager manager = TestDevice.newManager()) {
            for (int i = 0; i < 2000; i++) {
                assertEquals(1 << 18, manager.ones(new Shape(1 << 18)).size());
                if (i % 50 == 49) {
                    System.gc();
                    Thread.sleep(10);
                }
            }
            long grown = ChildJvm.statusBytes("VmRSS") - before;
            assertTrue(grown < 1L << 30, "the process grew by " + grown + " bytes");
        }
    }

    /** The collector runs while calls use objects to which only the call still refers. */
    @Test
    void nothingIsFreedDuringACall() throws Exception {
        RunningCollector.during(() -> {
            for (int i = 0; i < 300; i++) {
                NDManager manager = TestDevice.newManager();
                assertEquals(2 * 8 * 16, attendToOnes(manager).singletonOrThrow().toFloatArray().length);
            }
        });
    }

    private static NDList attendToOnes(NDManager manager) {
        NDArray x = manager.ones(new Shape(2, 8, 16));
        MultiHeadAttention attention = new MultiHeadAttention(16, 2, 0, false);
        attention.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        return attention.forward(new ParameterStore(), new NDList(x, x, x), false);
    }
}
