// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Programs in the style of d2l-java's chapter on attention, and their numbers. */
class D2lProgramsTest {
    private NDManager manager;
    private ParameterStore ps;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
        ps = new ParameterStore(manager, false);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** The block that a program composes gives the same bits as heed's block with the same parameters. */
    @Test
    void composedAttentionIsMultiHeadAttention() {
        for (boolean useBias : new boolean[] {false, true}) {
            NDArray queries = manager.randomNormal(new Shape(2, 4, 100));
            NDArray keys = manager.randomNormal(new Shape(2, 6, 100));
            for (NDArray validLens : new NDArray[] {
                manager.create(new float[] {3, 2}), manager.create(new float[][] {{3, 1, 0, 6}, {2, 5, 4, 4}})
            }) {
                NDList input = new NDList(queries, keys, keys, validLens);
                ComposedAttention composed = new ComposedAttention(100, 5, 0.5f, useBias);
                composed.setInitializer(new NormalInitializer(0.3f), Parameter.Type.BIAS);
                composed.initialize(manager, DataType.FLOAT32, input.getShapes());
                assertTrue(composed.isInitialized());

                MultiHeadAttention whole = new MultiHeadAttention(100, 5, 0.5f, useBias);
                for (Pair<String, Parameter> parameter : composed.getParameters()) {
                    String name = parameter.getKey().substring(2).replaceAll("_(weight|bias)$", ".$1");
                    whole.getParameters().get(name).setArray(parameter.getValue().getArray());
                }

                NDArray expected = whole.forward(ps, input, false).singletonOrThrow();
                NDArray actual = composed.forward(ps, input, false).singletonOrThrow();
                assertEquals(new Shape(2, 4, 100), actual.getShape());
                // The same engine computes both, and the order of each sum depends only on the sizes of one batch
                // element and head.
                assertArrayEquals(expected.toFloatArray(), actual.toFloatArray());
                assertArrayEquals(
                        whole.attention.attentionWeights.toFloatArray(),
                        composed.attention.attentionWeights.toFloatArray());
            }
        }
    }

    @Test
    void composedAttentionNamesItsParametersAsDjl() {
        ComposedAttention composed = new ComposedAttention(100, 5, 0.5f, true);
        assertEquals(
                List.of(
                        "01W_q_weight", "01W_q_bias", "02W_k_weight", "02W_k_bias", "03W_v_weight", "03W_v_bias",
                        "04W_o_weight", "04W_o_bias"),
                composed.getParameters().keys());
        assertEquals(
                List.of("01W_q", "02W_k", "03W_v", "04W_o", "05dropout"),
                composed.getChildren().keys());
        assertFalse(composed.isInitialized());
    }

    /** With the same seed, training drops the same attention weights in both. */
    @Test
    void additiveAttentionProgram() {
        NDArray queries = manager.randomNormal(0, 1, new Shape(2, 1, 20), DataType.FLOAT32);
        NDArray keys = manager.ones(new Shape(2, 10, 2));
        NDArray values = manager.arange(40f).reshape(1, 10, 4).repeat(0, 2);
        NDArray validLens = manager.create(new float[] {2, 6});

        AdditiveAttention attention = new AdditiveAttention(8, 0.1f);
        NDList input = new NDList(queries, keys, values, validLens);
        attention.initialize(manager, DataType.FLOAT32, input.getShapes());
        NDArray output = attention.forward(ps, input, false).head();

        // All keys are equal, so the results are the means of the first two and of the first six rows of four.
        assertEquals(new Shape(2, 1, 4), output.getShape());
        assertArrayEquals(new float[] {2, 3, 4, 5, 10, 11, 12, 13}, output.toFloatArray(), 1e-5f);
        assertSharesOfTwoAndSix(attention.attentionWeights.reshape(1, 1, 2, 10));

        queries = manager.randomNormal(0, 1, new Shape(2, 1, 2), DataType.FLOAT32);
        DotProductAttention productAttention = new DotProductAttention(0.5f);
        input = new NDList(queries, keys, values, validLens);
        productAttention.setInitializer(new UniformInitializer(0.07f), Parameter.Type.WEIGHT);
        productAttention.initialize(manager, DataType.FLOAT32, input.getShapes());
        output = productAttention.forward(ps, input, false).head();
        assertArrayEquals(new float[] {2, 3, 4, 5, 10, 11, 12, 13}, output.toFloatArray(), 1e-5f);
        assertSharesOfTwoAndSix(productAttention.attentionWeights.reshape(1, 1, 2, 10));
    }

    @Test
    void maskedSoftmaxProgram() {
        NDArray result = Chap10Utils.maskedSoftmax(
                manager.randomUniform(0, 1, new Shape(2, 2, 4)), manager.create(new float[] {2, 3}));
        assertRows(result, 2, 2, 3, 3);
        result = Chap10Utils.maskedSoftmax(
                manager.randomUniform(0, 1, new Shape(2, 2, 4)), manager.create(new float[][] {{1, 3}, {2, 4}}));
        assertRows(result, 1, 3, 2, 4);
        result = Chap10Utils.maskedSoftmax(manager.randomUniform(0, 1, new Shape(2, 2, 4)), null);
        assertRows(result, 4, 4, 4, 4);
        // d2l's function gives 1/4 each.
        result = Chap10Utils.maskedSoftmax(manager.ones(new Shape(1, 1, 4)), manager.create(new int[] {0}));
        assertArrayEquals(new float[4], result.toFloatArray());
    }

    @Test
    void headsMoveIntoTheBatchAndBack() {
        NDArray x = manager.arange(2 * 3 * 8f).reshape(2, 3, 8);
        NDArray heads = Chap10Utils.transposeQkv(x, 4);
        assertEquals(new Shape(8, 3, 2), heads.getShape());
        // Batch element 1, head 2 (6 in the merged axis), position 1: elements 4 and 5 of that row of 8.
        assertEquals(24 + 8 + 4, heads.getFloat(6, 1, 0));
        assertEquals(24 + 8 + 5, heads.getFloat(6, 1, 1));
        assertArrayEquals(x.toFloatArray(), Chap10Utils.transposeOutput(heads, 4).toFloatArray());
        NDArray empty = Chap10Utils.transposeQkv(manager.ones(new Shape(2, 0, 8)), 4);
        assertEquals(new Shape(8, 0, 2), empty.getShape());
        assertEquals(new Shape(2, 0, 8), Chap10Utils.transposeOutput(empty, 4).getShape());
    }

    private static void assertSharesOfTwoAndSix(NDArray weights) {
        assertEquals(new Shape(1, 1, 2, 10), weights.getShape());
        float[] expected = new float[20];
        Arrays.fill(expected, 0, 2, 1f / 2);
        Arrays.fill(expected, 10, 16, 1f / 6);
        assertArrayEquals(expected, weights.toFloatArray(), Math.ulp(0.5f));
    }

    /** Rows of 4 elements, of which the first `length` are above 0 and sum to 1. */
    private static void assertRows(NDArray softmax, int... lengths) {
        assertEquals(new Shape(2, 2, 4), softmax.getShape());
        float[] numbers = softmax.toFloatArray();
        for (int row = 0; row < lengths.length; row++) {
            double sum = 0;
            for (int i = 0; i < 4; i++) {
                sum += numbers[4 * row + i];
                assertEquals(i < lengths[row], numbers[4 * row + i] > 0);
            }
            assertEquals(1, sum, 8 * Math.ulp(1f));
        }
    }
}
