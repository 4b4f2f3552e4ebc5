// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Calls of threads that are interrupted, and the reports of loads. */
@Tag("cpu")
class StoppedCallsTest {
    private static final long ROWS = 1500;

    private final NDManager manager = NDManager.newBaseManager();

    @AfterEach
    void close() {
        manager.close();
    }

    /** Expects that the call is stopped, and that the thread stays interrupted until this method returns. */
    private static void assertStopped(Executable call) {
        CancellationException stopped = assertThrows(CancellationException.class, call);
        assertEquals("the thread is interrupted, so the call was stopped", stopped.getMessage());
        assertTrue(Thread.interrupted());
    }

    private Linear linear(long size) {
        Linear linear = Linear.builder().setUnits(size).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, size));
        return linear;
    }

    @Test
    void nothingIsComputedByAnInterruptedThread() {
        try (Linear linear = linear(4)) {
            NDArray rows = manager.ones(new Shape(2, 4));
            NDArray expected = linear.forward(rows).singletonOrThrow();
            AttentionInputs inputs = new AttentionInputs().setQueries(rows);
            AttentionOutputs outputs = linear.createOutputs(inputs);
            Thread.currentThread().interrupt();
            assertStopped(() -> linear.forward(rows));
            Thread.currentThread().interrupt();
            assertStopped(() -> linear.forward(inputs, outputs, null));
            Thread.currentThread().interrupt();
            assertStopped(() -> DotProductAttention.scaledDotProductAttention(
                    manager.ones(new Shape(1, 2, 4)), manager.ones(new Shape(1, 2, 4)), manager.ones(new Shape(1, 2, 4))));
            assertArrayEquals(expected.toFloatArray(), linear.forward(rows).singletonOrThrow().toFloatArray());
        }
    }

    @Test
    void aLongCallEndsWhenItsThreadIsInterrupted() throws InterruptedException {
        try (Linear linear = linear(2048)) {
            NDArray rows = manager.ones(new Shape(ROWS, 2048));
            AttentionInputs inputs = new AttentionInputs().setQueries(rows);
            AttentionOutputs outputs = linear.createOutputs(inputs);
            Thread caller = Thread.currentThread();
            Thread interrupter = new Thread(() -> {
                try {
                    Thread.sleep(20);
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
                caller.interrupt();
            });
            interrupter.start();
            assertStopped(() -> {
                for (;;) {
                    linear.forward(inputs, outputs, null);
                }
            });
            interrupter.join();
            linear.forward(inputs, outputs, null);
            assertArrayEquals(
                    linear.forward(rows).singletonOrThrow().toFloatArray(), outputs.getOutput().toFloatArray());
        }
    }

    @Test
    void aLoadReportsItsBytes() {
        List<Long> reports = new ArrayList<>();
        long[] totals = new long[1];
        try (Model model = Model.newInstance("bert")) {
            model.load(TestFiles.data("models/bert"), manager, (done, total) -> {
                reports.add(done);
                totals[0] = total;
            });
            assertTrue(model.getBlock().isInitialized());
        }
        assertEquals(0, reports.get(0));
        assertEquals(totals[0], reports.get(reports.size() - 1));
        for (int i = 1; i < reports.size(); i++) {
            assertTrue(reports.get(i - 1) <= reports.get(i));
        }
        assertTrue(reports.size() > 10);
    }

    @Test
    void aLoadEndsAtEachReport() {
        Path folder = TestFiles.data("models/bert");
        try (Model model = Model.newInstance("bert")) {
            for (int last = 0;; last++) {
                int[] left = {last};
                boolean[] isStopped = {false};
                try {
                    model.load(folder, null, (done, total) -> {
                        if (left[0]-- == 0) {
                            isStopped[0] = true;
                            Thread.currentThread().interrupt();
                        }
                    });
                    assertFalse(isStopped[0]);
                    break;
                } catch (CancellationException stopped) {
                    assertTrue(Thread.interrupted());
                    assertThrows(IllegalStateException.class, model::getBlock);
                }
            }
            assertTrue(model.getBlock().isInitialized());
        }
    }

    @Test
    void anInterruptedThreadLoadsNothing() {
        try (Model model = Model.newInstance("bert")) {
            Thread.currentThread().interrupt();
            assertStopped(() -> model.load(TestFiles.data("models/bert")));
            assertThrows(IllegalStateException.class, model::getBlock);
        }
        try (Linear linear = linear(4)) {
            Thread.currentThread().interrupt();
            assertStopped(() -> linear.load(TestFiles.data("d2l.safetensors"), ""));
        }
    }

    /** Interrupts the thread that reads from the stream, before it has this number of bytes. */
    private static InputStream interrupting(byte[] bytes, int last) {
        return new ByteArrayInputStream(bytes) {
            @Override
            public synchronized int read(byte[] target, int offset, int length) {
                if (pos >= last) {
                    Thread.currentThread().interrupt();
                }
                return super.read(target, offset, Math.min(length, 4096));
            }
        };
    }

    @Test
    void aLoadOfAStreamEndsBetweenItsPieces() throws IOException {
        try (Linear saved = linear(64);
                Linear linear = linear(64)) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            saved.save(bytes);
            NDArray before = linear.getParameters().get("weight").getArray();
            for (int last = 0; last < bytes.size(); last += 4096) {
                InputStream stream = interrupting(bytes.toByteArray(), last);
                assertStopped(() -> linear.load(stream, null));
                assertTrue(stream.available() > bytes.size() - last - 8192);
            }
            InputStream stream = interrupting(bytes.toByteArray(), 4096);
            assertStopped(() -> linear.load(stream, null, "clip_qkv"));
            assertTrue(stream.available() > 0);
            assertEquals(before, linear.getParameters().get("weight").getArray());
        }
    }

    private SequentialBlock composed() {
        return new SequentialBlock().add(linear(64)).add(linear(64));
    }

    @Test
    void aLoadOfParametersEndsBetweenItsPieces() throws IOException, MalformedModelException {
        try (SequentialBlock saved = composed();
                SequentialBlock block = composed()) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            saved.saveParameters(new DataOutputStream(bytes));
            NDArray before = block.getParameters().get("01Linear_weight").getArray();
            for (int last = 0; last < bytes.size(); last += 4096) {
                InputStream stream = interrupting(bytes.toByteArray(), last);
                assertStopped(() -> block.loadParameters(manager, new DataInputStream(stream)));
                assertTrue(stream.available() > bytes.size() - last - 8192);
            }
            assertEquals(before, block.getParameters().get("01Linear_weight").getArray());
            block.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
            assertEquals(
                    saved.getParameters().get("01Linear_weight").getArray(),
                    block.getParameters().get("01Linear_weight").getArray());
        }
    }

    /** A block whose thread can be interrupted after its own parameter is read, and before those of its child are. */
    private static final class Interrupting extends AbstractBlock {
        private boolean interrupts;
        private final Parameter scale = addParameter(new Parameter("scale", Parameter.Type.OTHER, Initializer.ONES) {
            @Override
            public Shape getShape() {
                if (interrupts) {
                    Thread.currentThread().interrupt();
                }
                return super.getShape();
            }
        });

        Interrupting(NDManager manager, Linear child) {
            addChildBlock("child", child);
            scale.setArray(manager.ones(new Shape(1)));
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            return inputs;
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    @Test
    void aLoadOfAComposedBlockEndsBetweenItsParameters(@TempDir Path folder) {
        Path file = folder.resolve("composed.safetensors");
        try (Interrupting saved = new Interrupting(manager, linear(4));
                Interrupting block = new Interrupting(manager, linear(4))) {
            saved.save(file);
            Parameter weight = block.getParameters().get("01child_weight");
            NDArray before = weight.getArray();
            Thread.currentThread().interrupt();
            assertStopped(() -> block.load(manager, file));
            block.interrupts = true;
            assertStopped(() -> block.load(manager, file));
            block.interrupts = false;
            assertEquals(before, weight.getArray());
            block.load(manager, file);
            assertEquals(saved.getParameters().get("01child_weight").getArray(), weight.getArray());
        }
    }

    @Test
    void theExceptionOfAListenerEndsTheLoad() {
        IllegalStateException thrown = new IllegalStateException("enough");
        try (Model model = Model.newInstance("bert")) {
            assertSame(thrown, assertThrows(IllegalStateException.class,
                    () -> model.load(TestFiles.data("models/bert"), manager, (done, total) -> {
                        if (done > 0) {
                            throw thrown;
                        }
                    })));
            // What a listener loads is another load.
            int[] others = {0};
            model.load(TestFiles.data("models/bert"), manager, (done, total) -> {
                if (done == 0) {
                    others[0]++;
                    try (Model other = Model.newInstance("gpt2")) {
                        other.load(TestFiles.data("models/gpt2"));
                    }
                }
            });
            assertEquals(1, others[0]);
            assertTrue(model.getBlock().isInitialized());
        }
    }
}
