// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.function.Consumer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Keys that every query sees: the parameter bias_k, and a key that is 0. */
class ConstantKeysTest {
    private NDManager manager;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /**
     * A query of 1 and a factor of ln 2, so that a key k has the weight 2^k: the input's key 1 with the value 7, bias_k
     * 2 with the value 14, and the key 0 with the value 0.
     */
    @Test
    void constantKeysTakeTheirShares() {
        assertAttends(false, false, 7, 1);
        assertAttends(true, false, 35 / 3f, 1 / 3f, 2 / 3f);
        assertAttends(false, true, 14 / 3f, 2 / 3f, 1 / 3f);
        assertAttends(true, true, 10, 2 / 7f, 4 / 7f, 1 / 7f);
    }

    /** Where no other key is visible, they alone share the weight. */
    @Test
    void nothingHidesConstantKeys() {
        AttentionInputs inputs = inputs().setValidLens(manager.create(new int[] {0}));
        try (MultiHeadAttention attention = attention(true, true)) {
            AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.OUTPUT, Wanted.WEIGHTS);
            attention.forward(inputs, outputs, null);
            assertArrayEquals(
                    new float[] {0, 0.8f, 0.2f}, outputs.getWeights().toFloatArray(), 8 * Math.ulp(0.8f));
            assertEquals(11.2f, outputs.getOutput().toFloatArray()[0], 8 * Math.ulp(11.2f));
        }
    }

    @Test
    void theyHaveTheSizesOfTheHeadsOfKeysAndValues() {
        try (MultiHeadAttention attention = MultiHeadAttention.builder()
                .setNumHiddens(8)
                .setNumHeads(4)
                .optNumKvHeads(2)
                .optHeadSize(3)
                .optValueHeadSize(5)
                .optAddBiasKv(true)
                .optAddZeroAttn(true)
                .build()) {
            NDArray x = manager.randomNormal(new Shape(2, 6, 8));
            attention.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
            assertEquals(6, attention.getParameters().size());
            assertEquals(new Shape(6), attention.getParameters().get("bias_k").getShape());
            assertEquals(new Shape(10), attention.getParameters().get("bias_v").getShape());
            attention.setKeepAttentionWeights(true);
            attention.forward(new ParameterStore(), new NDList(x, x, x), false);
            assertEquals(new Shape(8, 6, 8), attention.attention.attentionWeights.getShape());
        }
    }

    /** PyTorch's parameters of both names, and its results in 64 bits, in which a mask hides keys. */
    @Test
    void theyAreThoseOfPyTorch() {
        MultiHeadAttention.Builder builder =
                MultiHeadAttention.builder().setNumHiddens(6).setNumHeads(3).optBias(true);
        Path file = TestFiles.golden("torch_multi_head");
        assertRefused(
                "\"bias_kv.param.bias_k\", a parameter that this block's options lack: expected addBiasKv",
                () -> builder.build().load(file, "bias_kv.param"));
        boolean[] hidden = manager.load(file, "bias_kv.input.key_padding_mask").toBooleanArray();
        boolean[] visible = new boolean[hidden.length];
        for (int i = 0; i < hidden.length; i++) {
            visible[i] = !hidden[i];
        }
        assertPyTorch(
                "bias_kv",
                builder.optAddBiasKv(true),
                inputs -> inputs.setMask(manager.create(visible, new Shape(2, 1, 1, 5))));
        assertPyTorch(
                "zero_attn",
                builder.optAddBiasKv(false).optAddZeroAttn(true),
                inputs -> inputs.setBias(manager.load(file, "zero_attn.input.attn_mask")));
    }

    @Test
    void additiveScoringHasNone() {
        MultiHeadAttention.Builder builder =
                MultiHeadAttention.builder().setNumHiddens(4).setNumHeads(2).optScoring(Scoring.ADDITIVE);
        assertRefused(
                "addZeroAttn is true, but scoring is Scoring.ADDITIVE: expected false",
                builder.optAddZeroAttn(true)::build);
        assertRefused(
                "addBiasKv is true, but scoring is Scoring.ADDITIVE: expected false",
                builder.optAddBiasKv(true)::build);
    }

    private AttentionInputs inputs() {
        NDArray one = manager.ones(new Shape(1, 1, 1));
        return new AttentionInputs().setQueries(one).setKeys(one).setValues(manager.create(new float[] {7}, one.getShape()));
    }

    private MultiHeadAttention attention(boolean addBiasKv, boolean addZeroAttn) {
        MultiHeadAttention attention = MultiHeadAttention.builder()
                .setNumHiddens(1)
                .setNumHeads(1)
                .optScale((float) Math.log(2))
                .optAddBiasKv(addBiasKv)
                .optAddZeroAttn(addZeroAttn)
                .build();
        for (String name : new String[] {"W_q", "W_k", "W_v", "W_o"}) {
            attention.getParameters().get(name + ".weight").setArray(manager.ones(new Shape(1, 1)));
        }
        if (addBiasKv) {
            attention.getParameters().get("bias_k").setArray(manager.create(new float[] {2}));
            attention.getParameters().get("bias_v").setArray(manager.create(new float[] {14}));
        }
        return attention;
    }

    private void assertAttends(boolean addBiasKv, boolean addZeroAttn, float output, float... weights) {
        AttentionInputs inputs = inputs();
        try (MultiHeadAttention attention = attention(addBiasKv, addZeroAttn)) {
            AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.OUTPUT, Wanted.WEIGHTS);
            attention.forward(inputs, outputs, null);
            assertEquals(new Shape(1, 1, 1, weights.length), outputs.getWeights().getShape());
            assertArrayEquals(weights, outputs.getWeights().toFloatArray(), 8 * Math.ulp(1f));
            assertEquals(output, outputs.getOutput().toFloatArray()[0], 8 * Math.ulp(output));
        }
    }

    private void assertPyTorch(String name, MultiHeadAttention.Builder builder, Consumer<AttentionInputs> mask) {
        Path file = TestFiles.golden("torch_multi_head");
        AttentionInputs inputs = new AttentionInputs()
                .setQueries(manager.load(file, name + ".input.query"))
                .setKeys(manager.load(file, name + ".input.key"))
                .setValues(manager.load(file, name + ".input.value"));
        mask.accept(inputs);
        try (MultiHeadAttention attention = builder.build()) {
            attention.load(file, name + ".param");
            AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.OUTPUT, Wanted.WEIGHTS);
            attention.forward(inputs, outputs, null);
            assertNear(manager.load(file, name + ".output"), outputs.getOutput());
            assertNear(manager.load(file, name + ".weights"), outputs.getWeights());
        }
    }

    /** The tolerance: four sums of six products follow one another, and no number reaches 8. */
    private static void assertNear(NDArray expected, NDArray found) {
        assertEquals(expected.getShape(), found.getShape());
        assertArrayEquals(
                expected.toDoubleArray(), found.toType(DataType.FLOAT64, false).toDoubleArray(), 4 * 6 * Math.ulp(4f));
    }

    private static void assertRefused(String words, Executable use) {
        String message = assertThrows(IllegalArgumentException.class, use).getMessage();
        assertTrue(message.contains(words), message);
    }
}
