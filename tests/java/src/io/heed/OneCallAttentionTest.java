// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Attention without a block gives the same as a block. */
class OneCallAttentionTest {
    private NDManager manager;
    private NDArray queries;
    private NDArray keys;
    private NDArray values;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        queries = manager.randomNormal(new Shape(2, 4, 8));
        keys = manager.randomNormal(new Shape(2, 6, 8));
        values = manager.randomNormal(new Shape(2, 6, 5));
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void givesTheSameAsABlock() {
        NDArray expected = new DotProductAttention(0)
                .forward(new ParameterStore(), new NDList(queries, keys, values), false)
                .singletonOrThrow();
        NDArray result = DotProductAttention.scaledDotProductAttention(queries, keys, values);
        assertEquals(new Shape(2, 4, 5), result.getShape());
        assertSame(manager, result.getManager());
        assertArrayEquals(expected.toFloatArray(), result.toFloatArray());
    }

    @Test
    void takesHeads() {
        NDArray result = DotProductAttention.scaledDotProductAttention(
                manager.randomNormal(new Shape(2, 4, 3, 8)),
                manager.randomNormal(new Shape(2, 2, 6, 8)),
                manager.randomNormal(new Shape(2, 2, 6, 5)));
        assertEquals(new Shape(2, 4, 3, 5), result.getShape());
    }

    @Test
    void takesEveryInputOptionAndOutput() {
        DotProductAttention.Builder options = DotProductAttention.builder()
                .optScale(0.3f)
                .optSoftCap(4)
                .optDropout(0.5f)
                .optCausal(Causal.BOTTOM_RIGHT)
                .optWindow(Window.BOTTOM_RIGHT, 3, 0)
                .optEmptyRows(EmptyRows.MEAN);
        AttentionInputs inputs = new AttentionInputs()
                .setQueries(queries)
                .setKeys(keys)
                .setValues(values)
                .setValidLens(manager.create(new int[] {3, 6}))
                .setMask(manager.ones(new Shape(1, 1, 4, 6), DataType.BOOLEAN))
                .setBias(manager.randomNormal(new Shape(4, 6)))
                .setTraining(true)
                .setDropoutSeed(7);
        DotProductAttention block = options.build();
        try (AttentionOutputs expected =
                        block.createOutputs(inputs, Wanted.OUTPUT, Wanted.WEIGHTS, Wanted.LOG_SUM_EXP);
                AttentionOutputs outputs =
                        block.createOutputs(inputs, Wanted.OUTPUT, Wanted.WEIGHTS, Wanted.LOG_SUM_EXP)) {
            block.forward(inputs, expected, null);
            DotProductAttention.scaledDotProductAttention(inputs, outputs, options);
            for (Wanted wanted : Wanted.values()) {
                assertArrayEquals(
                        expected.get(wanted).toFloatArray(), outputs.get(wanted).toFloatArray());
            }
            inputs.setTraining(false);
            DotProductAttention plain = DotProductAttention.builder().build();
            plain.forward(inputs, expected, null);
            DotProductAttention.scaledDotProductAttention(inputs, outputs, null);
            assertArrayEquals(
                    expected.getOutput().toFloatArray(), outputs.getOutput().toFloatArray());
        }
    }

    /** The same as a bias of -slope * |position of the query - position of the key|. */
    @Test
    void takesTheSlopesOfAlibi() {
        float[] slopes = {0.0625f, 0.00390625f, 0.25f};
        try (NDArray made = AttentionInputs.createAlibiSlopes(manager, 3)) {
            assertArrayEquals(slopes, made.toFloatArray());
        }
        assertThrows(IllegalArgumentException.class, () -> AttentionInputs.createAlibiSlopes(manager, -1));
        float[] bias = new float[3 * 4 * 6];
        for (int i = 0; i < bias.length; i++) {
            int distance = Math.abs(6 - 4 + i / 6 % 4 - i % 6);
            bias[i] = -slopes[i / 24] * distance;
        }
        AttentionInputs inputs = new AttentionInputs()
                .setQueries(manager.randomNormal(new Shape(2, 3, 4, 8)))
                .setKeys(manager.randomNormal(new Shape(2, 3, 6, 8)))
                .setBias(manager.create(bias, new Shape(1, 3, 4, 6)));
        AttentionOutputs outputs = new AttentionOutputs().setOutput(manager.zeros(new Shape(2, 3, 4, 8)));
        DotProductAttention.scaledDotProductAttention(inputs, outputs, null);
        float[] expected = outputs.getOutput().toFloatArray();
        inputs.setBias(null).setAlibiSlopes(AttentionInputs.createAlibiSlopes(manager, 3));
        DotProductAttention.scaledDotProductAttention(inputs, outputs, null);
        // On an NPU the call with a bias computes in FLOAT16; the call with slopes runs on the CPU. Scores are at most 12, so
        // FLOAT16 rounds them by at most 12 * 2^-11 = 0.006. That changes each weight by at most 1.2 %, and an output, a mean
        // of values up to 4, by at most 0.05.
        float bound = TestDevice.DEVICE.isCpu() ? 1e-6f : 5e-2f;
        assertArrayEquals(expected, outputs.getOutput().toFloatArray(), bound);
        inputs.setAlibiSlopes(manager.ones(new Shape(2)));
        String sentence = assertThrows(
                        IllegalArgumentException.class,
                        () -> DotProductAttention.scaledDotProductAttention(inputs, outputs, null))
                .getMessage();
        assertTrue(sentence.startsWith("alibiSlopes has shape (2), expected (3), one slope for each head"), sentence);
    }

    @Test
    void refusesTheSameAsABlock() {
        String sentence = assertThrows(
                        IllegalArgumentException.class,
                        () -> DotProductAttention.scaledDotProductAttention(queries, values, values))
                .getMessage();
        assertTrue(sentence.contains("keys has shape (2, 6, 5)"), sentence);
        assertThrows(
                IllegalArgumentException.class,
                () -> DotProductAttention.scaledDotProductAttention(manager.create(1f), keys, values));
        assertThrows(
                NullPointerException.class,
                () -> DotProductAttention.scaledDotProductAttention(queries, null, values));
        AttentionInputs inputs = new AttentionInputs().setQueries(queries).setTraining(true);
        AttentionOutputs outputs = new AttentionOutputs().setOutput(manager.zeros(queries.getShape()));
        sentence = assertThrows(
                        IllegalArgumentException.class,
                        () -> DotProductAttention.scaledDotProductAttention(inputs, outputs, null))
                .getMessage();
        assertTrue(sentence.contains("no dropout seed"), sentence);
        inputs.setDropoutSeed(0);
        DotProductAttention.scaledDotProductAttention(inputs, outputs, null);
        keys.close();
        assertThrows(
                IllegalStateException.class,
                () -> DotProductAttention.scaledDotProductAttention(queries, keys, values));
    }
}
