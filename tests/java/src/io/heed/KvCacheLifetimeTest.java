// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** When caches are freed, what threads may do with them, and that steps allocate nothing. */
class KvCacheLifetimeTest {
    private final CacheScene scene = new CacheScene();

    @AfterEach
    void close() {
        scene.close();
    }

    @Test
    void cachesBelongToTheirManager() {
        NDArray x = scene.newRows(2);
        KvCache closed = scene.newCache();
        closed.close();
        closed.close();
        NDManager sub = scene.manager.newSubManager();
        KvCache ofSub = KvCache.builder()
                .setNumKvHeads(CacheScene.NUM_KV_HEADS)
                .setHeadSize(CacheScene.HEAD_SIZE)
                .setCapacity(8)
                .build(sub);
        AttentionInputs inputs = new AttentionInputs().setQueries(x).setCache(ofSub).setSequences(0);
        scene.output(inputs);
        assertSame(sub, ofSub.getManager());
        sub.close();
        assertThrows(IllegalStateException.class, () -> KvCache.builder().build(sub));
        Path unused = Path.of("never-written");
        for (KvCache each : List.of(closed, ofSub)) {
            inputs.setCache(each);
            for (Executable use : List.<Executable>of(
                    each::getNumBytes,
                    each::getFreePages,
                    () -> each.length(0),
                    () -> each.first(0),
                    () -> each.reserve(0, 1),
                    () -> each.rewind(0, 0),
                    () -> each.fork(0, 0, 0),
                    () -> each.reorder(0),
                    () -> each.accept(0, 0),
                    () -> each.discard(0, 0, 0),
                    () -> each.read(0, 0),
                    () -> each.save(0, unused),
                    () -> each.load(0, unused),
                    () -> each.toBytes(0),
                    () -> each.load(0, new byte[0]),
                    () -> scene.output(inputs),
                    () -> scene.attention.workspaceSize(inputs, new AttentionOutputs()),
                    () -> scene.attention.fillCache(inputs, null))) {
                assertEquals(
                        "the cache is closed",
                        assertThrows(IllegalStateException.class, use).getMessage());
            }
            assertTrue(each.toString().endsWith(" (closed)"), each.toString());
        }

        // The array of sequence numbers was that manager's, and is made again.
        inputs.setCache(scene.newCache());
        assertEquals(2 * CacheScene.SIZE, scene.output(inputs).length);
        assertEquals(2, inputs.getCache().length(0));
    }

    /** A block that is closed leaves the rows as they are. */
    @Test
    void rowsOutliveTheBlock() {
        KvCache cache = scene.newCache();
        try (MultiHeadAttention other = scene.newAttention(builder -> {})) {
            CacheScene.output(other, new AttentionInputs().setQueries(scene.newRows(3)).setCache(cache));
        }
        assertEquals(3, cache.read(0, 0).head().size(1));
        cache.fork(0, 3, 1);
        assertEquals(3, cache.length(1));
    }

    /** The native memory is counted until the cache is closed. */
    @Test
    void memoryIsCounted() {
        try (NDManager manager = TestDevice.newManager()) {
            KvCache.Builder builder = KvCache.builder().setNumKvHeads(8).setHeadSize(64).setCapacity(1 << 12);
            KvCache cache = builder.build(manager);
            long withCache = NativeMemory.usedBytes();
            cache.close();
            long numBytes = withCache - NativeMemory.usedBytes();
            assertTrue(numBytes >= 8L * 2 * 64 * 4 << 12, numBytes + " bytes");
        }
    }

    /**
     * A cache, or its manager, is closed on another thread at any moment: each call gives its result or throws "is
     * closed".
     */
    @Test
    void closeDuringACall() throws Exception {
        NDArray prompt = scene.newRows(48);
        NDArray step = scene.newRows(1);
        for (int round = 0; round < 120; round++) {
            NDManager sub = scene.manager.newSubManager();
            KvCache cache = KvCache.builder()
                    .setNumKvHeads(CacheScene.NUM_KV_HEADS)
                    .setHeadSize(CacheScene.HEAD_SIZE)
                    .setCapacity(64)
                    .optMaxSequences(2)
                    .optLayout(CacheLayout.PAGED)
                    .optPageSize(16)
                    .optNumPages(8)
                    .build(sub);
            AttentionInputs inputs =
                    new AttentionInputs().setQueries(prompt).setCache(cache).setSequences(1);
            AttentionOutputs ofPrompt = scene.attention.createOutputs(inputs);
            AttentionOutputs ofStep = scene.attention.createOutputs(inputs.setQueries(step));
            RepeatedCalls calls = new RepeatedCalls(() -> {
                scene.attention.forward(inputs.setQueries(prompt), ofPrompt, null);
                scene.attention.forward(inputs.setQueries(step), ofStep, null);
                cache.fork(1, 40, 0);
                cache.load(0, cache.toBytes(1));
                cache.reorder(1, 0);
                cache.rewind(0, 0);
                cache.rewind(1, 0);
            });
            Thread.sleep(0, 100_000 * (round % 10));
            if (round % 2 == 0) {
                cache.close();
            } else {
                sub.close();
            }
            Throwable end = calls.end();
            assertEquals(IllegalStateException.class, end.getClass(), () -> String.valueOf(end));
            assertTrue(end.getMessage().endsWith("is closed"), end.getMessage());
            ofPrompt.close();
            ofStep.close();
            sub.close();
        }
    }

    @Test
    void closingFromManyThreadsFreesOnce() throws Exception {
        for (int round = 0; round < 200; round++) {
            NDManager sub = scene.manager.newSubManager();
            KvCache cache = KvCache.builder()
                    .setNumKvHeads(1)
                    .setHeadSize(4)
                    .setCapacity(16)
                    .optNumLayers(2)
                    .build(sub);
            List<Thread> threads = List.of(
                    new Thread(cache::close), new Thread(sub::close), new Thread(cache::close), new Thread(sub::close));
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            assertThrows(IllegalStateException.class, () -> cache.length(0));
        }
    }

    /**
     * Two threads append to one cache, each to its own sequence: a call appends its row, or throws because the other
     * thread's call is running, and appends none.
     */
    @Test
    void oneCallAtATimeChangesACache() throws Exception {
        int numCalls = 1000;
        KvCache cache = scene.newCache(CacheLayout.CONTIGUOUS, builder -> builder.setCapacity(numCalls));
        long[] appended = new long[2];
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            int sequence = i;
            threads[i] = new Thread(() -> {
                try (NDManager own = scene.manager.newSubManager()) {
                    AttentionInputs inputs = new AttentionInputs()
                            .setQueries(own.ones(new Shape(1, 1, CacheScene.SIZE)))
                            .setCache(cache)
                            .setSequences(sequence);
                    AttentionOutputs outputs =
                            new AttentionOutputs().setOutput(own.zeros(new Shape(1, 1, CacheScene.SIZE)));
                    for (int call = 0; call < numCalls; call++) {
                        try {
                            scene.attention.forward(inputs, outputs, null);
                            appended[sequence]++;
                        } catch (IllegalStateException error) {
                            // The other thread's call is running.
                        }
                    }
                } catch (Throwable error) {
                    wrong.set(error);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertNull(wrong.get(), () -> String.valueOf(wrong.get()));
        assertTrue(appended[0] + appended[1] > 0);
        assertArrayEquals(appended, new long[] {cache.length(0), cache.length(1)});
    }

    /**
     * The collector runs while calls use caches, and arrays of sequence numbers, to which only the call still refers.
     */
    @Test
    void nothingIsFreedDuringACall() throws Exception {
        RunningCollector.during(() -> {
            for (int i = 0; i < 200; i++) {
                assertEquals(8, keysOfForgotten(TestDevice.newManager()).size(1));
            }
        });
    }

    /** The keys of a cache to which nothing refers any more. */
    private static NDArray keysOfForgotten(NDManager manager) {
        NDArray x = manager.ones(new Shape(1, 8, CacheScene.SIZE));
        MultiHeadAttention attention = new MultiHeadAttention(CacheScene.SIZE, 2, 0, false);
        attention.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        KvCache cache =
                KvCache.builder().setNumKvHeads(2).setHeadSize(8).setCapacity(8).build(manager);
        AttentionInputs inputs = new AttentionInputs().setQueries(x).setCache(cache).setSequences(0);
        attention.forward(inputs, attention.createOutputs(inputs), null);
        return cache.read(0, 0).head();
    }

    /** Nothing at all, in 10,000 steps of two layers, each appended to the sequences that the step names. */
    @Test
    @Tag("cpu")
    void stepsAllocateNothing() {
        for (CacheLayout layout : CacheLayout.values()) {
            long[][] numbers = {{2, 0}, {0, 2}};
            long[] beams = {0, 1, 2};
            KvCache cache = scene.newCache(layout, builder -> builder.optNumLayers(2));
            AttentionInputs inputs = new AttentionInputs()
                    .setQueries(scene.manager.randomNormal(new Shape(2, 20, CacheScene.SIZE)))
                    .setCache(cache)
                    .setSequences(numbers[0]);
            scene.output(inputs);
            scene.output(inputs.setCacheLayer(1));
            inputs.setQueries(scene.manager.randomNormal(new Shape(2, 1, CacheScene.SIZE))).setCacheLayer(0);
            AttentionOutputs outputs = scene.attention.createOutputs(inputs);
            // For the longest sequences, of 21 rows after the step.
            try (Workspace workspace = scene.manager.newWorkspace(scene.attention.workspaceSize(inputs, outputs))) {
                assertAllocatesNothing(step -> {
                    inputs.setSequences(numbers[step % 2]);
                    scene.attention.forward(inputs.setCacheLayer(0), outputs, workspace);
                    scene.attention.forward(inputs.setCacheLayer(1), outputs, workspace);
                    if (cache.length(0) > 20) {
                        cache.rewind(0, 5);
                        cache.rewind(2, 5);
                        cache.fork(0, 5, 1);
                        cache.reorder(beams);
                    }
                });
            }
        }
    }

    @Test
    void fillingAndReadingAllocateNothing() {
        KvCache cache = scene.newCache();
        AttentionInputs fill = new AttentionInputs().setQueries(scene.newRows(3)).setCache(cache);
        AttentionInputs read = new AttentionInputs()
                .setQueries(scene.newRows(1))
                .setCache(cache)
                .setCacheUse(CacheUse.READ);
        AttentionOutputs ofFill = scene.attention.createOutputs(fill, Wanted.values());
        try (Workspace ofRows = scene.manager.newWorkspace(scene.attention.workspaceSize(fill, ofFill))) {
            scene.attention.fillCache(fill, ofRows);
            AttentionOutputs outputs = scene.attention.createOutputs(read);
            try (Workspace workspace = scene.manager.newWorkspace(scene.attention.workspaceSize(read, outputs))) {
                assertAllocatesNothing(step -> {
                    cache.rewind(0, 0);
                    scene.attention.fillCache(fill, ofRows);
                    scene.attention.forward(read, outputs, workspace);
                });
            }
        }
    }

    private interface Step {
        void run(int step);
    }

    private static void assertAllocatesNothing(Step step) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        long fewest = Long.MAX_VALUE;
        // The first round warms up: the virtual machine does its one-time work.
        for (int round = 0; round < 4; round++) {
            long before = threads.getThreadAllocatedBytes(self);
            for (int i = 0; i < 10_000; i++) {
                step.run(i);
            }
            fewest = Math.min(fewest, threads.getThreadAllocatedBytes(self) - before);
        }
        assertEquals(0, fewest);
    }
}
