// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.regex.Pattern;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What a cache refuses, with Java's words, and that it is as it was afterwards. */
class KvCacheErrorsTest {
    private static final Pattern WORDS_OF_C = Pattern.compile("->|heed_|HEED_|NULL|[a-z]_[a-z]");

    private final CacheScene scene = new CacheScene();

    @TempDir
    Path folder;

    @AfterEach
    void close() {
        scene.close();
    }

    @Test
    void aFullCacheSaysWhatItNeeds() {
        KvCache cache = scene.newCache(CacheLayout.PAGED, builder -> builder.optNumPages(2));
        NDArray x = scene.newRows(40);
        CacheFullException error = assertFull(() -> scene.append(cache, x, 0));
        assertEquals(Status.CACHE_FULL, error.getStatus());
        assertEquals(3, error.getNeeded());
        assertEquals(2, error.getFree());
        assertTrue(error.getMessage().startsWith("cache has no room: 3 pages needed, 2 free"), error.getMessage());
        assertEquals(0, cache.length(0));
        assertEquals(2, cache.getFreePages());

        // The call can be repeated with fewer rows.
        scene.append(cache, CacheScene.rows(x, 0, 32), 0);
        assertEquals(0, cache.getFreePages());
        NDArray next = CacheScene.rows(x, 0, 1);
        Path file = folder.resolve("sequence");
        cache.save(0, file);
        byte[] bytes = cache.toBytes(0);
        assertFull(() -> cache.reserve(1, 1));
        assertFull(() -> scene.append(cache, next, 1));
        assertFull(() -> cache.load(1, file));
        assertFull(() -> cache.load(1, bytes));
        assertEquals(32, cache.length(0));
        assertEquals(0, cache.length(1));

        // A page that is shared must be copied for the first row that is written to it.
        cache.rewind(0, 17);
        cache.fork(0, 17, 1);
        assertFull(() -> scene.append(cache, next, 1));
        assertFull(() -> cache.accept(1, 15, 1));
        assertFull(() -> cache.discard(1, 0, 1));
    }

    /** Without pages, a sequence has room for capacity rows. */
    @Test
    void aFullSequence() {
        KvCache cache = scene.newCache();
        NDArray x = scene.newRows(65);
        CacheFullException error = assertFull(() -> scene.append(cache, x, 0));
        assertEquals(65, error.getNeeded());
        assertEquals(64, error.getFree());
        assertFull(() -> cache.reserve(0, 65));
        assertFull(() -> scene.attention.fillCache(new AttentionInputs().setQueries(x).setCache(cache), null));
        scene.append(cache, CacheScene.rows(x, 0, 64), 0);
        assertFull(() -> scene.append(cache, CacheScene.rows(x, 64, 65), 0));
        assertEquals(64, cache.length(0));
    }

    @Test
    void numbersAreReadFromTheSentence() {
        assertNumbers("cache has no room: 3 pages needed, 2 free", 3, 2);
        assertNumbers("cache has no room: 3 pages needed, 0 free of 12", 3, 0);
        assertNumbers("cache has no room: 20 rows needed, 16 free: expected fewer", 20, 16);
        assertNumbers("cache has no room: 2147483648 rows needed, 2147483647 free", 2147483648L, 2147483647L);
        for (String sentence : List.of(
                "cache has no room: 99999999999999999999 pages needed, 2 free",
                "cache has no room: three pages needed, 2 free",
                "cache has no room: 3 pages needed, -2 free",
                "cache has no room: 3 pages needed, 2 given",
                "cache has no room: 3 pages needed, 2",
                "needed, 2 free",
                "cache is full",
                "")) {
            assertNumbers(sentence, -1, -1);
        }
    }

    private static void assertNumbers(String sentence, long needed, long free) {
        CacheFullException error = new CacheFullException(sentence);
        assertEquals(needed, error.getNeeded(), sentence);
        assertEquals(free, error.getFree(), sentence);
        assertEquals(sentence, error.getMessage());
        assertEquals(Status.CACHE_FULL, error.getStatus());
    }

    /** Each option reaches its own member, and is called by its name. */
    @Test
    void optionsAreNamed() {
        assertOptionRefused("numLayers", CacheLayout.CONTIGUOUS, builder -> builder.optNumLayers(-7));
        assertOptionRefused("maxSequences", CacheLayout.CONTIGUOUS, builder -> builder.optMaxSequences(-7));
        assertOptionRefused("numKvHeads", CacheLayout.CONTIGUOUS, builder -> builder.setNumKvHeads(0));
        assertOptionRefused("headSize", CacheLayout.CONTIGUOUS, builder -> builder.setHeadSize(4097));
        assertOptionRefused("valueHeadSize", CacheLayout.CONTIGUOUS, builder -> builder.optValueHeadSize(4097));
        assertOptionRefused("capacity", CacheLayout.CONTIGUOUS, builder -> builder.setCapacity(0));
        assertOptionRefused("capacity", CacheLayout.CONTIGUOUS, builder -> builder.setCapacity(1L << 31));
        assertOptionRefused("numSinks", CacheLayout.CONTIGUOUS, builder -> builder.optNumSinks(1));
        assertOptionRefused("numSinks", CacheLayout.RING, builder -> builder.optNumSinks(-7));
        assertOptionRefused("pageSize", CacheLayout.RING, builder -> builder.optPageSize(16));
        assertOptionRefused("pageSize", CacheLayout.PAGED, builder -> builder.optPageSize(17));
        assertOptionRefused("numPages", CacheLayout.CONTIGUOUS, builder -> builder.optNumPages(1));
        assertOptionRefused("numPages", CacheLayout.PAGED, builder -> builder.optNumPages(0));
        assertOptionRefused("dataType", CacheLayout.CONTIGUOUS, builder -> builder.optDataType(DataType.FLOAT64));
        long most = Integer.MAX_VALUE;
        assertOptionRefused(
                "overflow",
                CacheLayout.CONTIGUOUS,
                builder -> builder.setNumKvHeads(most).optMaxSequences(most).setCapacity(1 << 30));
        assertRefused(
                UnsupportedOperationException.class,
                "unrotatedKeys",
                () -> scene.newCache(CacheLayout.RING, builder -> builder.optUnrotatedKeys(true)));
        assertThrows(
                OutOfMemoryError.class,
                () -> scene.newCache(
                        CacheLayout.CONTIGUOUS, builder -> builder.setNumKvHeads(1L << 28).setHeadSize(4096)));
        assertNull("manager", () -> KvCache.builder().build(null));
        assertNull("layout", () -> KvCache.builder().optLayout(null));
        assertNull("dataType", () -> KvCache.builder().optDataType(null));
    }

    private void assertOptionRefused(String words, CacheLayout layout, Consumer<KvCache.Builder> options) {
        assertRefused(IllegalArgumentException.class, words, () -> scene.newCache(layout, options));
    }

    @Test
    void inputsAreNamed() {
        NDArray x = scene.newRows(2);
        NDArray pair = scene.manager.randomNormal(new Shape(2, 2, CacheScene.SIZE));
        assertInputsRefused("sequences", x, inputs -> inputs.setSequences(3));
        assertInputsRefused("sequences", x, inputs -> inputs.setSequences(-1));
        assertInputsRefused("sequences", x, inputs -> inputs.setSequences(0, 1));
        assertInputsRefused("sequences", x, inputs -> inputs.setSequences(new long[0]));
        assertInputsRefused("sequences", pair, inputs -> inputs.setSequences(1, 1));
        assertInputsRefused("cacheLayer", x, inputs -> inputs.setCacheLayer(1));
        assertInputsRefused("keys", x, inputs -> inputs.setCacheUse(CacheUse.READ).setKeys(x));
        assertInputsRefused("validLens", x, inputs -> inputs.setValidLens(scene.manager.create(new int[] {1})));
        assertInputsRefused("keys", x, inputs -> inputs.setKeys(scene.newRows(3)));
        assertInputsRefused(
                "positions",
                x,
                inputs -> inputs.setPositions(scene.manager.create(new int[] {0, -1}, new Shape(1, 2))));
        assertInputsRefused(
                "",
                x,
                inputs -> inputs.setCache(
                        scene.newCache(CacheLayout.CONTIGUOUS, builder -> builder.setHeadSize(8))));
        assertInputsRefused(
                "",
                x,
                inputs -> inputs.setCache(
                        scene.newCache(CacheLayout.CONTIGUOUS, builder -> builder.setNumKvHeads(4))));
    }

    private void assertInputsRefused(String words, NDArray queries, Consumer<AttentionInputs> set) {
        KvCache cache = scene.newCache();
        AttentionInputs inputs = new AttentionInputs().setQueries(queries).setCache(cache);
        set.accept(inputs);
        assertRefused(IllegalArgumentException.class, words, () -> scene.output(inputs));
        assertEquals(0, cache.length(0));
    }

    /** What is meant for a cache is not ignored if there is none. */
    @Test
    void inputsForACacheNeedOne() {
        NDArray x = scene.newRows(2);
        assertNeedsACache("sequences are set", x, inputs -> inputs.setSequences(0));
        assertNeedsACache("cacheLayer is 1", x, inputs -> inputs.setCacheLayer(1));
        assertNeedsACache("cacheUse is READ", x, inputs -> inputs.setCacheUse(CacheUse.READ));
        assertRefused(
                IllegalArgumentException.class,
                "cache",
                () -> scene.attention.fillCache(new AttentionInputs().setQueries(x), null));
        assertNull("inputs", () -> scene.attention.fillCache(null, null));
        assertNull("cacheUse", () -> new AttentionInputs().setCacheUse(null));
        assertRefused(
                IllegalArgumentException.class,
                "queries",
                () -> scene.attention.fillCache(new AttentionInputs().setCache(scene.newCache()), null));
        assertRefused(
                IllegalArgumentException.class,
                "cacheUse",
                () -> scene.attention.fillCache(
                        new AttentionInputs()
                                .setQueries(x)
                                .setCache(scene.newCache())
                                .setCacheUse(CacheUse.READ),
                        null));
        NDArray closed = scene.newRows(2);
        closed.close();
        IllegalStateException error = assertThrows(
                IllegalStateException.class,
                () -> scene.attention.fillCache(
                        new AttentionInputs().setKeys(closed).setCache(scene.newCache()), null));
        assertEquals("the array keys is closed", error.getMessage());
    }

    private void assertNeedsACache(String words, NDArray queries, Consumer<AttentionInputs> set) {
        AttentionInputs inputs = new AttentionInputs().setQueries(queries);
        set.accept(inputs);
        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> scene.output(inputs));
        assertEquals(words + ", but cache is null: expected a cache", error.getMessage());
        inputs.clear().setQueries(queries);
        assertEquals(2 * CacheScene.SIZE, scene.output(inputs).length);
    }

    @Test
    void otherBlocksTakeNoCache() {
        NDArray x = scene.newRows(2);
        AttentionInputs inputs = new AttentionInputs().setQueries(x).setCache(scene.newCache());
        AdditiveAttention additive = new AdditiveAttention(4, 0);
        additive.initialize(scene.manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        MultiHeadAttention additiveHeads =
                scene.newAttention(builder -> builder.optScoring(Scoring.ADDITIVE).optRope(null));
        for (NativeBlock block : List.of(new DotProductAttention(0), additive, additiveHeads)) {
            assertRefused(UnsupportedOperationException.class, "", () -> CacheScene.output(block, inputs));
            block.close();
        }
        inputs.setTraining(true);
        assertRefused(UnsupportedOperationException.class, "", () -> scene.output(inputs));
        assertRefused(
                UnsupportedOperationException.class, "", () -> scene.attention.fillCache(inputs, null));
        assertEquals(0, inputs.getCache().length(0));
    }

    @Test
    void rowsThatAreNotThere() {
        KvCache cache = scene.newCache(CacheLayout.CONTIGUOUS, builder -> builder.optNumLayers(2));
        NDArray x = scene.newRows(4);
        scene.append(cache, x, 0);
        scene.output(new AttentionInputs().setQueries(x).setCache(cache).setCacheLayer(1));
        Path file = folder.resolve("sequence");
        Path neverWritten = folder.resolve("never-written");
        cache.save(0, file);
        byte[] saved = cache.toBytes(0);
        for (long sequence : new long[] {-1, 3, Long.MIN_VALUE, Long.MAX_VALUE}) {
            for (Executable use : List.<Executable>of(
                    () -> cache.length(sequence),
                    () -> cache.first(sequence),
                    () -> cache.reserve(sequence, 1),
                    () -> cache.rewind(sequence, 0),
                    () -> cache.fork(sequence, 0, 0),
                    () -> cache.fork(0, 0, sequence),
                    () -> cache.reorder(sequence),
                    () -> cache.accept(sequence, 0),
                    () -> cache.discard(sequence, 0, 1),
                    () -> cache.read(0, sequence),
                    () -> cache.save(sequence, neverWritten),
                    () -> cache.load(sequence, file),
                    () -> cache.toBytes(sequence),
                    () -> cache.load(sequence, saved))) {
                assertRefused(IllegalArgumentException.class, "" + sequence, use);
            }
        }
        for (Executable use : List.<Executable>of(
                () -> cache.reserve(0, -1),
                () -> cache.rewind(0, 5),
                () -> cache.rewind(0, -1),
                () -> cache.fork(0, 5, 1),
                () -> cache.reorder(0, 1, 2, 0),
                () -> cache.accept(0, 5),
                () -> cache.accept(0, 2, 2),
                () -> cache.accept(0, 2, 1, 0),
                () -> cache.accept(0, 2, 0, 0),
                () -> cache.discard(0, 3, 2),
                () -> cache.discard(0, -1, 1),
                () -> cache.read(2, 0),
                () -> cache.read(-1, 0))) {
            assertRefused(IllegalArgumentException.class, "", use);
        }
        assertEquals(4, cache.length(0));
        assertFalse(Files.exists(neverWritten));

        // Layers that do not have the same rows.
        scene.append(cache, CacheScene.rows(x, 0, 1), 0);
        assertRefused(IllegalArgumentException.class, "", () -> cache.accept(0, 0, 1));
        assertRefused(IllegalArgumentException.class, "", () -> cache.discard(0, 0, 1));
        assertNull("sources", () -> cache.reorder((long[]) null));
        assertNull("kept", () -> cache.accept(0, 0, (long[]) null));
        assertNull("path", () -> cache.save(0, null));
        assertNull("path", () -> cache.load(0, (Path) null));
        assertNull("bytes", () -> cache.load(0, (byte[]) null));
    }

    @Test
    void rotaryPositionsCannotBeChangedInWholeNumbers() {
        KvCache cache = scene.newCache(CacheLayout.CONTIGUOUS, builder -> builder.optDataType(DataType.INT8));
        scene.append(cache, scene.newRows(4), 0);
        assertRefused(UnsupportedOperationException.class, "", () -> cache.discard(0, 0, 1, true));
        cache.discard(0, 0, 1, false);
        assertEquals(3, cache.length(0));
    }

    /** A block with other rotary positions than those of the rows. */
    @Test
    void rowsOfOtherRotaryPositions() {
        Rope rope = Rope.builder().setLayout(RopeLayout.HALF).optBase(500000).build();
        try (MultiHeadAttention other = scene.newAttention(builder -> builder.optRope(rope))) {
            KvCache cache = scene.newCache();
            NDArray x = scene.newRows(2);
            scene.append(cache, x, 0);
            byte[] saved = cache.toBytes(0);
            AttentionInputs inputs = new AttentionInputs().setQueries(x).setCache(cache);
            assertThrows(IllegalArgumentException.class, () -> CacheScene.output(other, inputs));

            KvCache another = scene.newCache();
            CacheScene.output(other, inputs.setCache(another));
            assertThrows(IllegalArgumentException.class, () -> another.load(1, saved));
            assertEquals(0, another.length(1));
        }
    }

    @Test
    void filesThatDoNotFit() {
        KvCache cache = scene.newCache();
        scene.append(cache, scene.newRows(3), 0);
        byte[] saved = cache.toBytes(0);
        assertFails(Status.IO, () -> cache.load(0, folder.resolve("none")));
        assertFails(Status.IO, () -> cache.save(0, folder.resolve("no/such/file")));
        assertFails(Status.NOT_FOUND, () -> cache.load(0, TestFiles.golden("d2l")));
        assertFails(Status.CORRUPT_FILE, () -> cache.load(0, Arrays.copyOf(saved, saved.length - 1)));
        assertFails(Status.CORRUPT_FILE, () -> cache.load(0, new byte[0]));
        for (Consumer<KvCache.Builder> options : List.<Consumer<KvCache.Builder>>of(
                builder -> builder.setNumKvHeads(4),
                builder -> builder.setHeadSize(8),
                builder -> builder.optValueHeadSize(8),
                builder -> builder.optDataType(DataType.BFLOAT16),
                builder -> builder.optUnrotatedKeys(true))) {
            KvCache other = scene.newCache(CacheLayout.CONTIGUOUS, options);
            assertRefused(IllegalArgumentException.class, "", () -> other.load(0, saved));
            assertEquals(0, other.length(0));
        }
        byte[] ofTwoLayers = scene.newCache(CacheLayout.CONTIGUOUS, builder -> builder.optNumLayers(2))
                .toBytes(0);
        assertRefused(IllegalArgumentException.class, "numLayers", () -> cache.load(0, ofTwoLayers));
        assertArrayEquals(saved, cache.toBytes(0));
    }

    private static CacheFullException assertFull(Executable use) {
        return assertThrows(CacheFullException.class, use);
    }

    private static void assertFails(Status status, Executable use) {
        assertEquals(status, assertThrows(HeedException.class, use).getStatus());
    }

    private static void assertNull(String name, Executable use) {
        assertEquals(name, assertThrows(NullPointerException.class, use).getMessage());
    }

    /** The call throws such an exception, in which these words occur, and none of C's outside of quotes. */
    private static void assertRefused(Class<? extends Exception> type, String words, Executable use) {
        String message = assertThrows(type, use).getMessage();
        assertTrue(message.contains(words), message);
        assertFalse(WORDS_OF_C.matcher(message.replaceAll("\"[^\"]*\"", "")).find(), message);
    }
}
