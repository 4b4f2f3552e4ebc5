// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What calls with a cache give, and what its methods do with its rows. Equal results are compared bit by bit. */
class KvCacheTest {
    private final CacheScene scene = new CacheScene();

    @AfterEach
    void close() {
        scene.close();
    }

    @Test
    void stepsGiveWhatTheWholeSequenceGives() {
        int numRows = 20;
        NDArray x = scene.newRows(numRows);
        float[] expected = scene.append(scene.newCache(), x, 0);
        CacheScene.near(scene.output(new AttentionInputs().setQueries(x)), expected);
        for (CacheLayout layout : CacheLayout.values()) {
            KvCache cache = scene.newCache(layout);
            assertArrayEquals(expected, scene.append(cache, x, 0));
            float[] found = scene.append(cache, CacheScene.rows(x, 0, 7), 2);
            for (int row = 7; row < numRows; row++) {
                found = CacheScene.joined(found, scene.append(cache, CacheScene.rows(x, row, row + 1), 2));
                assertEquals(row + 1, cache.length(2));
            }
            assertArrayEquals(expected, found);
            assertArrayEquals(new long[] {numRows, 0, numRows}, CacheScene.lengths(cache));
            assertEquals(0, cache.first(2));
        }
    }

    /** Prompts of two lengths, padded and packed, then a row for each of two sequences in one call. */
    @Test
    void eachElementHasItsSequence() {
        NDArray x = scene.newRows(6);
        NDArray y = scene.newRows(6);
        KvCache alone = scene.newCache();
        float[] ofFirst = scene.append(alone, CacheScene.rows(x, 0, 5), 0);
        float[] ofSecond = scene.append(alone, CacheScene.rows(y, 0, 2), 1);

        KvCache padded = scene.newCache(CacheLayout.PAGED);
        float[] both = CacheScene.joined(
                CacheScene.rows(x, 0, 5).toFloatArray(), CacheScene.rows(y, 0, 5).toFloatArray());
        float[] found = scene.output(new AttentionInputs()
                .setQueries(scene.manager.create(both, new Shape(2, 5, CacheScene.SIZE)))
                .setCache(padded)
                .setSequences(2, 0)
                .setQueryLens(scene.manager.create(new int[] {5, 2})));
        assertArrayEquals(ofFirst, CacheScene.part(found, 0, 5));
        assertArrayEquals(ofSecond, CacheScene.part(found, 5, 2));
        assertArrayEquals(new long[] {2, 0, 5}, CacheScene.lengths(padded));

        KvCache packed = scene.newCache(CacheLayout.PAGED);
        float[] rows = CacheScene.joined(
                CacheScene.rows(x, 0, 5).toFloatArray(), CacheScene.rows(y, 0, 2).toFloatArray());
        found = scene.output(new AttentionInputs()
                .setQueries(scene.manager.create(rows, new Shape(7, CacheScene.SIZE)))
                .setCache(packed)
                .setSequences(2, 0)
                .setQueryOffsets(scene.manager.create(new int[] {0, 5, 7})));
        assertArrayEquals(CacheScene.joined(ofFirst, ofSecond), found);

        NDArray nextOfFirst = CacheScene.rows(x, 5, 6);
        NDArray nextOfSecond = CacheScene.rows(y, 2, 3);
        float[] expected =
                CacheScene.joined(scene.append(alone, nextOfFirst, 0), scene.append(alone, nextOfSecond, 1));
        NDArray step = scene.manager.create(
                CacheScene.joined(nextOfFirst.toFloatArray(), nextOfSecond.toFloatArray()),
                new Shape(2, 1, CacheScene.SIZE));
        for (KvCache cache : new KvCache[] {padded, packed}) {
            assertArrayEquals(expected, scene.append(cache, step, 2, 0));
        }
    }

    /** Without numbers, batch element b is sequence b. One object of inputs serves batches of any size. */
    @Test
    void numbersOfSequencesMayChange() {
        KvCache cache = scene.newCache();
        NDArray x = scene.manager.randomNormal(new Shape(2, 3, CacheScene.SIZE));
        AttentionInputs inputs = new AttentionInputs().setQueries(x).setCache(cache);
        assertNull(inputs.getSequences());
        float[] expected = scene.output(inputs);
        assertArrayEquals(new long[] {3, 3, 0}, CacheScene.lengths(cache));

        long[] numbers = {2, 1};
        inputs.setSequences(numbers);
        cache.rewind(1, 0);
        assertArrayEquals(expected, scene.output(inputs));
        assertArrayEquals(new long[] {3, 3, 3}, CacheScene.lengths(cache));

        // The numbers were copied, and so are those that are returned.
        numbers[0] = 99;
        inputs.getSequences()[1] = 99;
        assertArrayEquals(new long[] {2, 1}, inputs.getSequences());
        cache.rewind(1, 0);
        cache.rewind(2, 0);
        assertArrayEquals(expected, scene.output(inputs));

        inputs.setSequences(0, 2);
        cache.rewind(0, 0);
        cache.rewind(2, 0);
        assertArrayEquals(expected, scene.output(inputs));
        inputs.setQueries(x.get(new NDIndex("1:2"))).setSequences(1);
        cache.rewind(1, 0);
        assertArrayEquals(CacheScene.part(expected, 3, 3), scene.output(inputs));
    }

    /** The length counts the rows that all layers have. */
    @Test
    void eachLayerHasItsRows() {
        KvCache cache = scene.newCache(CacheLayout.PAGED, builder -> builder.optNumLayers(2));
        NDArray x = scene.newRows(4);
        AttentionInputs inputs = new AttentionInputs().setQueries(x).setCache(cache);
        try (MultiHeadAttention other = scene.newAttention(builder -> {})) {
            float[] ofFirst = scene.output(inputs);
            assertEquals(0, cache.length(0));
            float[] ofSecond = CacheScene.output(other, inputs.setCacheLayer(1));
            assertEquals(4, cache.length(0));
            assertArrayEquals(scene.append(scene.newCache(), x, 0), ofFirst);
            assertFalse(Arrays.equals(ofFirst, ofSecond));
            assertFalse(cache.read(0, 0).get(1).contentEquals(cache.read(1, 0).get(1)));
        }

        // A layer that is ahead of the others is read with all its rows.
        scene.append(cache, x, 0);
        assertEquals(4, cache.length(0));
        assertEquals(8, cache.read(0, 0).head().size(1));
        assertEquals(4, cache.read(1, 0).head().size(1));
        cache.rewind(0, 4);
        assertEquals(4, cache.read(0, 0).head().size(1));
    }

    /** Cross attention to a memory that was filled before. */
    @Test
    void readingAttendsToTheRows() {
        try (CacheScene cross = new CacheScene(
                builder -> builder.optCausal(Causal.NONE).optRope(null))) {
            NDArray memory = cross.newRows(9);
            NDArray queries = cross.newRows(2);
            KvCache cache = cross.newCache();
            AttentionInputs fill = new AttentionInputs().setKeys(memory).setCache(cache).setSequences(1);
            long needed = cross.attention.workspaceSize(fill, new AttentionOutputs());
            cross.attention.fillCache(fill, cross.manager.newWorkspace(needed));
            assertArrayEquals(new long[] {0, 9, 0}, CacheScene.lengths(cache));

            AttentionInputs read = new AttentionInputs()
                    .setQueries(queries)
                    .setCache(cache)
                    .setSequences(1)
                    .setCacheUse(CacheUse.READ);
            float[] found = cross.output(read);
            CacheScene.near(cross.output(new AttentionInputs().setQueries(queries).setKeys(memory)), found);
            assertArrayEquals(found, cross.output(read));
            assertEquals(9, cache.length(1));

            // Two elements may read one sequence.
            float[] twice = CacheScene.joined(queries.toFloatArray(), queries.toFloatArray());
            read.setQueries(cross.manager.create(twice, new Shape(2, 2, CacheScene.SIZE))).setSequences(1, 1);
            assertArrayEquals(CacheScene.joined(found, found), cross.output(read));

            // Queries without keys are the rows; only the first of them are appended.
            fill.clear().setQueries(memory).setCache(cache).setQueryLens(cross.manager.create(new int[] {4}));
            try (AttentionOutputs outputs = cross.attention.createOutputs(fill, Wanted.values())) {
                cross.attention.fillCache(
                        fill, cross.manager.newWorkspace(cross.attention.workspaceSize(fill, outputs)));
            }
            assertArrayEquals(new long[] {4, 9, 0}, CacheScene.lengths(cache));
            NDArray first = cache.read(0, 0).head();
            assertTrue(first.contentEquals(CacheScene.rows(cache.read(0, 1).head(), 0, 4)));
        }
    }

    /** Each query sees the last rows, and the sinks, as with a mask of them. */
    @Test
    void aRingKeepsTheLastRowsAndTheSinks() {
        int numRows = 200;
        int capacity = 4;
        NDArray x = scene.newRows(numRows);
        for (int numSinks : new int[] {0, 2}) {
            KvCache cache = scene.newCache(
                    CacheLayout.RING, builder -> builder.setCapacity(capacity).optNumSinks(numSinks));
            float[] found = new float[0];
            for (int row = 0; row < numRows; row += 20) {
                found = CacheScene.joined(found, scene.append(cache, CacheScene.rows(x, row, row + 20), 0));
            }
            boolean[] isSeen = new boolean[numRows * numRows];
            for (int i = 0; i < isSeen.length; i++) {
                int key = i % numRows;
                isSeen[i] = key < numSinks || key > i / numRows - capacity;
            }
            NDArray mask = scene.manager.create(isSeen, new Shape(numRows, numRows));
            CacheScene.near(scene.output(new AttentionInputs().setQueries(x).setMask(mask)), found);

            assertEquals(numRows, cache.length(0));
            long first = cache.first(0);
            assertTrue(first >= numRows - capacity - 79 && first <= numRows - capacity, "the first row is " + first);
            assertEquals(
                    new Shape(CacheScene.NUM_KV_HEADS, numSinks + numRows - first, CacheScene.HEAD_SIZE),
                    cache.read(0, 0).head().getShape());

            // As long as the rows of the last query are kept, later rows can be dropped.
            cache.rewind(0, numRows - 5);
            assertArrayEquals(
                    CacheScene.part(found, numRows - 5, 5),
                    scene.append(cache, CacheScene.rows(x, numRows - 5, numRows), 0));
            assertThrows(IllegalArgumentException.class, () -> cache.rewind(0, capacity));
            assertEquals(numRows, cache.length(0));
            cache.rewind(0, 0);
            assertArrayEquals(CacheScene.part(found, 0, 1), scene.append(cache, CacheScene.rows(x, 0, 1), 0));
        }
    }

    @Test
    void forksSharePagesUntilTheyWrite() {
        KvCache cache = scene.newCache(CacheLayout.PAGED);
        NDArray x = scene.newRows(20);
        float[] whole = scene.append(cache, x, 0);
        assertEquals(10, cache.getFreePages());
        cache.fork(0, 18, 1);
        assertArrayEquals(new long[] {20, 18, 0}, CacheScene.lengths(cache));
        assertEquals(10, cache.getFreePages());
        assertArrayEquals(CacheScene.part(whole, 18, 2), scene.append(cache, CacheScene.rows(x, 18, 20), 1));
        assertEquals(9, cache.getFreePages());

        // What one of them appends, the other does not see.
        cache.rewind(1, 18);
        assertFalse(Arrays.equals(CacheScene.part(whole, 18, 1), scene.append(cache, scene.newRows(1), 1)));
        cache.rewind(0, 19);
        assertArrayEquals(CacheScene.part(whole, 19, 1), scene.append(cache, CacheScene.rows(x, 19, 20), 0));

        cache.fork(0, 3, 0);
        assertEquals(3, cache.length(0));
        cache.rewind(0, 0);
        cache.rewind(1, 0);
        assertEquals(12, cache.getFreePages());
    }

    @Test
    void reservedPagesAreTheSequences() {
        KvCache cache = scene.newCache(CacheLayout.PAGED);
        cache.reserve(0, 33);
        assertEquals(9, cache.getFreePages());
        cache.reserve(0, 5);
        assertEquals(9, cache.getFreePages());
        assertEquals(0, cache.length(0));
        scene.append(cache, scene.newRows(33), 0);
        assertEquals(9, cache.getFreePages());
        cache.rewind(0, 0);
        assertEquals(12, cache.getFreePages());
    }

    @Test
    void beamsAreReordered() {
        for (CacheLayout layout : CacheLayout.values()) {
            KvCache cache = scene.newCache(layout);
            scene.append(cache, scene.newRows(5), 0);
            scene.append(cache, scene.newRows(3), 1);
            NDArray ofFirst = cache.read(0, 0).head();
            NDArray ofSecond = cache.read(0, 1).head();
            cache.reorder(1, 0, 1);
            assertArrayEquals(new long[] {3, 5, 3}, CacheScene.lengths(cache));
            assertTrue(cache.read(0, 0).head().contentEquals(ofSecond));
            assertTrue(cache.read(0, 1).head().contentEquals(ofFirst));

            NDArray step = scene.newRows(1);
            assertArrayEquals(scene.append(cache, step, 0), scene.append(cache, step, 2));
            cache.reorder();
            cache.reorder(1);
            assertArrayEquals(new long[] {5, 5, 4}, CacheScene.lengths(cache));
        }
    }

    @Test
    void acceptedRowsMoveTogether() {
        KvCache cache = scene.newCache(CacheLayout.PAGED);
        scene.append(cache, scene.newRows(10), 0);
        NDList before = cache.read(0, 0);
        cache.accept(0, 6, 1, 3);
        assertEquals(8, cache.length(0));
        assertHasRows(cache, before, 0, 1, 2, 3, 4, 5, 7, 9);
        cache.accept(0, 6);
        assertHasRows(cache, before, 0, 1, 2, 3, 4, 5);
    }

    @Test
    void discardedRowsLeaveAGapOrNone() {
        NDArray x = scene.newRows(9);
        KvCache cache = scene.newCache();
        scene.append(cache, CacheScene.rows(x, 0, 8), 0);
        NDList before = cache.read(0, 0);
        cache.discard(0, 2, 3);
        assertHasRows(cache, before, 0, 1, 5, 6, 7);

        // Without rounding, as if the rows had never been there.
        KvCache unrotated = scene.newCache(CacheLayout.CONTIGUOUS, builder -> builder.optUnrotatedKeys(true));
        scene.append(unrotated, CacheScene.rows(x, 0, 8), 0);
        unrotated.discard(0, 2, 3, true);
        scene.append(unrotated, CacheScene.rows(x, 0, 2), 1);
        scene.append(unrotated, CacheScene.rows(x, 5, 8), 1);
        NDArray next = CacheScene.rows(x, 8, 9);
        float[] expected = scene.append(unrotated, next, 1);
        assertArrayEquals(expected, scene.append(unrotated, next, 0));
        assertFalse(Arrays.equals(expected, scene.append(cache, next, 0)));
    }

    /** Values are the first elements of each row. */
    @Test
    void rowsCanBeRead() {
        int numRows = 3;
        int valueSize = CacheScene.NUM_KV_HEADS * CacheScene.HEAD_SIZE;
        float[] identity = new float[valueSize * CacheScene.SIZE];
        for (int i = 0; i < valueSize; i++) {
            identity[i * CacheScene.SIZE + i] = 1;
        }
        scene.attention
                .getDirectParameters()
                .get("W_v.weight")
                .setArray(scene.manager.create(identity, new Shape(valueSize, CacheScene.SIZE)));
        // Whole numbers up to 127, whose largest one in each head gives the scale 1.
        float[] rows = new float[numRows * CacheScene.SIZE];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = i % CacheScene.HEAD_SIZE == 0 ? 127 : i;
        }
        NDArray x = scene.manager.create(rows, new Shape(1, numRows, CacheScene.SIZE));
        for (DataType kept : new DataType[] {DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16, DataType.INT8}) {
            KvCache cache = scene.newCache(CacheLayout.PAGED, builder -> builder.optDataType(kept));
            scene.append(cache, x, 2);
            NDList read = cache.read(0, 2);
            assertEquals(2, read.size());
            for (NDArray each : read) {
                assertEquals(new Shape(CacheScene.NUM_KV_HEADS, numRows, CacheScene.HEAD_SIZE), each.getShape());
                assertEquals(kept == DataType.INT8 ? DataType.FLOAT32 : kept, each.getDataType());
                assertSame(scene.manager, each.getManager());
            }
            for (int row = 0; row < numRows; row++) {
                int first = row * CacheScene.SIZE;
                assertArrayEquals(
                        Arrays.copyOfRange(rows, first, first + valueSize),
                        CacheScene.rows(read.get(1), row, row + 1).toFloatArray());
            }
        }
    }

    /** A sequence that was saved goes on in other caches, with the same bits. */
    @Test
    void sequencesAreSavedAndLoaded(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("Größe.safetensors");
        NDArray x = scene.newRows(9);
        NDArray next = CacheScene.rows(x, 8, 9);
        KvCache cache = scene.newCache();
        scene.append(cache, CacheScene.rows(x, 0, 8), 1);
        cache.save(1, file);
        byte[] bytes = cache.toBytes(1);
        assertArrayEquals(Files.readAllBytes(file), bytes);
        assertEquals(
                new Shape(CacheScene.NUM_KV_HEADS, 8, CacheScene.HEAD_SIZE),
                scene.manager.load(file, "layers.0.keys").getShape());
        float[] expected = scene.append(cache, next, 1);

        KvCache paged = scene.newCache(
                CacheLayout.PAGED,
                builder -> builder.optPageSize(32).optNumPages(5).optMaxSequences(4));
        scene.append(paged, scene.newRows(40), 3);
        paged.load(3, file);
        assertEquals(4, paged.getFreePages());
        KvCache ring = scene.newCache(CacheLayout.RING);
        ring.load(0, bytes);
        assertEquals(8, paged.length(3));
        assertEquals(8, ring.length(0));
        assertArrayEquals(expected, scene.append(paged, next, 3));
        assertArrayEquals(expected, scene.append(ring, next, 0));

        // A sequence without rows.
        KvCache empty = scene.newCache();
        empty.load(1, empty.toBytes(0));
        assertEquals(0, empty.length(1));
    }

    @Test
    void sizesAreTold() {
        // Keys and values of FLOAT32.
        long elements = 3L * 64 * CacheScene.NUM_KV_HEADS * 2 * CacheScene.HEAD_SIZE * 4;
        KvCache cache = scene.newCache();
        long numBytes = cache.getNumBytes();
        assertTrue(numBytes >= elements && numBytes <= 2 * elements, numBytes + " bytes");
        assertEquals(3, cache.getFreePages());
        assertSame(scene.manager, cache.getManager());
        assertEquals("KvCache CONTIGUOUS FLOAT32 " + numBytes + " bytes", cache.toString());
        long larger = scene.newCache(
                        CacheLayout.CONTIGUOUS,
                        builder -> builder.optNumLayers(3).optValueHeadSize(3 * CacheScene.HEAD_SIZE))
                .getNumBytes();
        assertTrue(larger >= 3 * 2 * elements && larger <= 3 * 4 * elements, larger + " bytes");
        assertEquals(
                1,
                scene.newCache(CacheLayout.CONTIGUOUS, builder -> builder.optMaxSequences(0))
                        .getFreePages());
    }

    /** A cache has copies of its options, and a builder makes any number of caches. */
    @Test
    void optionsAreCopied() {
        KvCache.Builder builder = KvCache.builder()
                .setNumKvHeads(CacheScene.NUM_KV_HEADS)
                .setHeadSize(CacheScene.HEAD_SIZE)
                .setCapacity(8);
        KvCache cache = builder.build(scene.manager);
        KvCache other = builder.setHeadSize(3).optDataType(DataType.BFLOAT16).build(scene.manager);
        scene.append(cache, scene.newRows(2), 0);
        assertEquals(CacheScene.HEAD_SIZE, cache.read(0, 0).head().size(2));
        assertEquals(DataType.FLOAT32, cache.read(0, 0).head().getDataType());
        assertEquals(3, other.read(0, 0).head().size(2));
    }

    @Test
    void clearResetsTheInputs() {
        AttentionInputs inputs = new AttentionInputs()
                .setCache(scene.newCache())
                .setSequences(0)
                .setCacheLayer(1)
                .setCacheUse(CacheUse.READ);
        assertEquals(1, inputs.getCacheLayer());
        assertEquals(CacheUse.READ, inputs.getCacheUse());
        inputs.clear();
        assertNull(inputs.getCache());
        assertNull(inputs.getSequences());
        assertEquals(0, inputs.getCacheLayer());
        assertEquals(CacheUse.APPEND, inputs.getCacheUse());
    }

    /** Sequence 0 has these rows of the keys and values that it had before. */
    private static void assertHasRows(KvCache cache, NDList before, int... rows) {
        NDList now = cache.read(0, 0);
        for (int i = 0; i < 2; i++) {
            assertEquals(rows.length, now.get(i).size(1));
            for (int row = 0; row < rows.length; row++) {
                assertArrayEquals(
                        CacheScene.rows(before.get(i), rows[row], rows[row] + 1).toFloatArray(),
                        CacheScene.rows(now.get(i), row, row + 1).toFloatArray());
            }
        }
    }
}
