// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

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
    void closesTheWeightsOfTheForwardBefore() {
        MultiHeadAttention attention = initialized();
        NDList inputs = inputs();
        for (int i = 0; i < 3; i++) {
            NDArray before = attention.attention.attentionWeights;
            // An array that the caller stores in the public field is not closed by the block.
            NDArray callers = manager.ones(new Shape(1));
            attention.attention.attentionWeights = callers;
            forward(attention, inputs);
            assertEquals(1, callers.size());
            assertEquals(10 * 4 * 6, attention.attention.attentionWeights.size());
            if (before != null) {
                assertThrows(IllegalStateException.class, before::size);
            }
        }
    }

    @Test
    void servesManyThreads() throws Exception {
        MultiHeadAttention attention = initialized();
        NDList inputs = inputs();
        float[] expected = forward(attention, inputs);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<float[]>> results = Stream.generate(() -> inputs)
                    .limit(200)
                    .map(each -> threads.submit(() -> forward(attention, each)))
                    .collect(Collectors.toList());
            for (Future<float[]> result : results) {
                assertArrayEquals(expected, result.get());
            }
            assertEquals(240, attention.attention.attentionWeights.size());
        } finally {
            threads.shutdownNow();
        }
    }

    private MultiHeadAttention initialized() {
        MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, false);
        attention.initialize(manager, DataType.FLOAT32, inputs().getShapes());
        return attention;
    }

    private NDList inputs() {
        NDArray x = manager.randomNormal(new Shape(2, 4, 100));
        NDArray y = manager.randomNormal(new Shape(2, 6, 100));
        return new NDList(x, y, y, manager.create(new float[] {3, 2}));
    }

    private float[] forward(MultiHeadAttention attention, NDList inputs) {
        return attention.forward(ps, inputs, false).singletonOrThrow().toFloatArray();
    }
}
