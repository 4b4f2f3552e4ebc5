// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MultiHeadAttentionTest {
    private NDManager manager;
    private ParameterStore ps;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        ps = new ParameterStore(manager, false);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void runsTheD2lProgram() {
        int numHiddens = 100;
        int numHeads = 5;
        MultiHeadAttention attention = new MultiHeadAttention(numHiddens, numHeads, 0.5f, false);
        int batchSize = 2;
        int numQueries = 4;
        int numKvpairs = 6;
        NDArray validLens = manager.create(new float[] {3, 2});
        NDArray X = manager.ones(new Shape(batchSize, numQueries, numHiddens));
        NDArray Y = manager.ones(new Shape(batchSize, numKvpairs, numHiddens));
        NDList input = new NDList(X, Y, Y, validLens);
        attention.initialize(manager, DataType.FLOAT32, input.getShapes());
        NDList result = attention.forward(ps, input, false);
        assertEquals("(2, 4, 100)", result.get(0).getShape().toString());
        assertEquals(1, result.size());
        assertSame(manager, result.head().getManager());

        // d2l keeps the attention weights: each row sums to 1, and all visible keys have equal weights, since all keys
        // are equal.
        NDArray weights = attention.attention.attentionWeights;
        assertEquals(new Shape(10, 4, 6), weights.getShape());
        float[] numbers = weights.toFloatArray();
        for (int row = 0; row < 40; row++) {
            int visible = row < 20 ? 3 : 2;
            for (int key = 0; key < 6; key++) {
                float expected = key < visible ? 1f / visible : 0;
                assertEquals(expected, numbers[6 * row + key], Math.ulp(expected), "row " + row + ", key " + key);
            }
        }
    }

    @Test
    void attentionWeightsSumToOne() {
        MultiHeadAttention attention = initialized(0, false);
        attention.forward(ps, ramps(true), false);
        float[] numbers = attention.attention.attentionWeights.toFloatArray();
        for (int row = 0; row < 40; row++) {
            double sum = 0;
            for (int key = 0; key < 6; key++) {
                sum += numbers[6 * row + key];
            }
            // Six numbers, each rounded in its division, by a sum that is rounded once for each term.
            assertEquals(1, sum, 12 * Math.ulp(1f));
        }
    }

    @Test
    void lengthsMayBeMissingOrNull() {
        MultiHeadAttention attention = initialized(0, false);
        NDList three = ramps(false);
        NDList withNull = new NDList(three.get(0), three.get(1), three.get(2), null);
        NDList all = new NDList(three.get(0), three.get(1), three.get(2), manager.create(new int[] {6, 6}));
        float[] expected = forward(attention, all, false);
        assertArrayEquals(expected, forward(attention, three, false));
        assertArrayEquals(expected, forward(attention, withNull, false));
        assertFalse(Arrays.equals(expected, forward(attention, ramps(true), false)));

        MultiHeadAttention other = new MultiHeadAttention(100, 5, 0, false);
        other.initialize(manager, DataType.FLOAT32, withNull.getShapes());
        assertTrue(other.isInitialized());
    }

    @Test
    void lengthsMayBeOfThreeTypesAndForEachQuery() {
        MultiHeadAttention attention = initialized(0, false);
        NDList three = ramps(false);
        float[] expected = forward(attention, ramps(true), false);
        for (NDArray lengths : new NDArray[] {
            manager.create(new float[] {3, 2}),
            manager.create(new int[] {3, 2}),
            manager.create(new long[] {3, 2}),
            manager.create(new int[] {3, 3, 3, 3, 2, 2, 2, 2}, new Shape(2, 4))
        }) {
            NDList inputs = new NDList(three.get(0), three.get(1), three.get(2), lengths);
            assertArrayEquals(expected, forward(attention, inputs, false), lengths.toString());
        }
    }

    @Test
    void computesInEachFloatType() {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16}) {
            NDArray x = manager.ones(new Shape(1, 2, 8), type);
            NDList inputs = new NDList(x, x, x);
            MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, true);
            attention.initialize(manager, type, inputs.getShapes());
            NDArray output = attention.forward(ps, inputs, false).head();
            assertEquals(type, output.getDataType());
            assertEquals(16, output.toFloatArray().length);
        }
    }

    @Test
    void dropoutIsFreshInEachForwardAndRepeatsWithItsSeed() {
        MultiHeadAttention attention = initialized(0.5f, false);
        NDList inputs = ramps(true);
        float[] inference = forward(attention, inputs, false);
        attention.setSeed(7);
        float[] first = forward(attention, inputs, true);
        float[] second = forward(attention, inputs, true);
        assertFalse(Arrays.equals(inference, first));
        assertFalse(Arrays.equals(first, second));
        assertArrayEquals(inference, forward(attention, inputs, false));

        attention.setSeed(7);
        assertArrayEquals(first, forward(attention, inputs, true));
        assertArrayEquals(second, forward(attention, inputs, true));

        MultiHeadAttention without = initialized(0, false);
        assertArrayEquals(forward(without, inputs, false), forward(without, inputs, true));
    }

    @Test
    void parametersRepeatWithTheirSeed() {
        List<float[]> outputs = Stream.of(7, 7, 8)
                .map(seed -> {
                    MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, false);
                    attention.setSeed(seed);
                    attention.initialize(manager, DataType.FLOAT32, ramps(false).getShapes());
                    return forward(attention, ramps(false), false);
                })
                .collect(Collectors.toList());
        assertArrayEquals(outputs.get(0), outputs.get(1));
        assertFalse(Arrays.equals(outputs.get(0), outputs.get(2)));

        // Without a seed each block has different parameters.
        assertFalse(Arrays.equals(
                forward(initialized(0, false), ramps(false), false),
                forward(initialized(0, false), ramps(false), false)));
    }

    @Test
    void savesAndLoads(@TempDir Path folder) {
        for (boolean useBias : new boolean[] {false, true}) {
            MultiHeadAttention attention = initialized(0, useBias);
            Path file = folder.resolve("weights");
            attention.save(file);
            float[] expected = forward(attention, ramps(true), false);
            for (String prefix : new String[] {null, ""}) {
                try (MultiHeadAttention copy = new MultiHeadAttention(100, 5, 0, useBias)) {
                    assertFalse(copy.isInitialized());
                    copy.load(file, prefix);
                    assertTrue(copy.isInitialized());
                    assertArrayEquals(expected, forward(copy, ramps(true), false));
                }
            }
        }
    }

    @Test
    void initializeKeepsParametersThatAreThere() {
        MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, false);
        attention.load(TestFiles.golden("d2l"), "attention");
        float[] expected = forward(attention, ramps(true), false);
        attention.initialize(manager, DataType.FLOAT32, ramps(true).getShapes());
        assertArrayEquals(expected, forward(attention, ramps(true), false));
        Shape other = new Shape(2, 4, 50);
        assertThrows(
                IllegalArgumentException.class,
                () -> attention.initialize(manager, DataType.FLOAT32, other, other, other));
        assertArrayEquals(expected, forward(attention, ramps(true), false));
    }

    @Test
    void parametersBelongToTheManagerOfInitialize() {
        NDManager first = manager.newSubManager();
        MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, false);
        attention.initialize(first, DataType.FLOAT32, ramps(true).getShapes());
        first.close();
        assertEquals(
                "the block, or the manager that it was initialized with, is closed",
                assertThrows(IllegalStateException.class, () -> attention.forward(ps, ramps(true), false))
                        .getMessage());
        attention.initialize(manager, DataType.FLOAT32, ramps(true).getShapes());
        assertEquals(800, forward(attention, ramps(true), false).length);
    }

    @Test
    void keepsTheWeightsOfTheLastForward() {
        MultiHeadAttention attention = initialized(0, false);
        assertNull(attention.attention.attentionWeights);
        forward(attention, ramps(true), false);
        NDArray first = attention.attention.attentionWeights;
        assertNotNull(first);
        float[] firstWeights = first.toFloatArray();
        forward(attention, ramps(false), false);
        assertFalse(Arrays.equals(firstWeights, attention.attention.attentionWeights.toFloatArray()));

        float[] kept = forward(attention, ramps(true), false);
        NDArray last = attention.attention.attentionWeights;
        attention.setKeepAttentionWeights(false);
        assertThrows(IllegalStateException.class, last::size);
        assertNull(attention.attention.attentionWeights);
        assertArrayEquals(kept, forward(attention, ramps(true), false));
        assertNull(attention.attention.attentionWeights);
        attention.setKeepAttentionWeights(true);
        forward(attention, ramps(true), false);
        assertNotNull(attention.attention.attentionWeights);
    }

    @Test
    void closesTheWeightsOfTheForwardBefore() {
        MultiHeadAttention attention = initialized(0, false);
        NDList inputs = ramps(true);
        for (int i = 0; i < 3; i++) {
            NDArray before = attention.attention.attentionWeights;
            // An array that the caller stores in the public field is not closed by the block.
            NDArray callers = manager.ones(new Shape(1));
            attention.attention.attentionWeights = callers;
            forward(attention, inputs, false);
            assertEquals(1, callers.size());
            assertEquals(10 * 4 * 6, attention.attention.attentionWeights.size());
            if (before != null) {
                assertThrows(IllegalStateException.class, before::size);
            }
        }
    }

    @Test
    void initializeRefusesAnotherTypeThanThatOfTheParameters() {
        MultiHeadAttention attention = initialized(0, true);
        float[] expected = forward(attention, ramps(true), false);
        assertEquals(
                "dataType is FLOAT16, but the block has parameters of FLOAT32 already",
                assertThrows(
                                IllegalArgumentException.class,
                                () -> attention.initialize(manager, DataType.FLOAT16, ramps(true).getShapes()))
                        .getMessage());
        assertArrayEquals(expected, forward(attention, ramps(true), false));
    }

    @Test
    void canBeInitializedAgainAfterItsManagerIsClosed() {
        MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, false);
        for (DataType type : new DataType[] {DataType.FLOAT16, DataType.FLOAT32}) {
            try (NDManager owner = manager.newSubManager()) {
                attention.initialize(owner, type, ramps(true).getShapes());
                assertTrue(attention.isInitialized());
            }
            assertFalse(attention.isInitialized());
        }
        assertThrows(HeedException.class, () -> attention.load(TestFiles.golden("d2l"), "nobody"));
        assertFalse(attention.isInitialized());
        attention.load(TestFiles.golden("d2l"), "attention");
        assertTrue(attention.isInitialized());
        assertEquals(800, forward(attention, ramps(true), false).length);

        MultiHeadAttention closed = initialized(0, false);
        closed.close();
        assertThrows(IllegalStateException.class, () -> closed.load(TestFiles.golden("d2l"), "attention"));
    }

    @Test
    void acceptsEmptyInputs() {
        MultiHeadAttention attention = initialized(0, false);
        for (long[] sizes : new long[][] {{0, 4, 6}, {2, 0, 6}, {2, 4, 0}}) {
            NDArray x = manager.ones(new Shape(sizes[0], sizes[1], 100));
            NDArray y = manager.ones(new Shape(sizes[0], sizes[2], 100));
            assertEquals(x.getShape(), attention.forward(ps, new NDList(x, y, y), false).head().getShape());
            assertEquals(
                    new Shape(sizes[0] * 5, sizes[1], sizes[2]), attention.attention.attentionWeights.getShape());
        }
    }

    @Test
    void servesManyThreads() throws Exception {
        MultiHeadAttention attention = initialized(0, false);
        NDList inputs = ramps(true);
        float[] expected = forward(attention, inputs, false);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<float[]>> results = Stream.generate(() -> inputs)
                    .limit(200)
                    .map(each -> threads.submit(() -> forward(attention, each, false)))
                    .collect(Collectors.toList());
            for (Future<float[]> result : results) {
                assertArrayEquals(expected, result.get());
            }
            assertEquals(240, attention.attention.attentionWeights.size());
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void hasAText() {
        assertEquals(
                "MultiHeadAttention(numHiddens=100, numHeads=5, useBias=true, dropout=0.5)",
                new MultiHeadAttention(100, 5, 0.5f, true).toString());
    }

    private MultiHeadAttention initialized(float dropout, boolean useBias) {
        MultiHeadAttention attention = new MultiHeadAttention(100, 5, dropout, useBias);
        attention.initialize(manager, DataType.FLOAT32, ramps(true).getShapes());
        return attention;
    }

    /** Queries (2, 4, 100), keys and values (2, 6, 100), and lengths 3 and 2. */
    private NDList ramps(boolean withLengths) {
        NDArray queries = ramp(new Shape(2, 4, 100), 1);
        NDArray keys = ramp(new Shape(2, 6, 100), 2);
        NDArray values = ramp(new Shape(2, 6, 100), 3);
        return withLengths
                ? new NDList(queries, keys, values, manager.create(new float[] {3, 2}))
                : new NDList(queries, keys, values);
    }

    private NDArray ramp(Shape shape, int phase) {
        float[] numbers = new float[(int) shape.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) Math.sin(0.37 * i + phase);
        }
        return manager.create(numbers, shape);
    }

    private float[] forward(MultiHeadAttention attention, NDList inputs, boolean training) {
        return attention.forward(ps, inputs, training).singletonOrThrow().toFloatArray();
    }
}
