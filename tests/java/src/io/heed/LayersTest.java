// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Linear layers, dropout, and the kinds of attention. */
class LayersTest {
    private NDManager manager;
    private final ParameterStore ps = new ParameterStore();

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void linearMultipliesAndAdds() {
        Linear linear = Linear.builder().setUnits(2).build();
        assertEquals(List.of("weight", "bias"), linear.getDirectParameters().keys());
        linear.getDirectParameters().get("weight").setArray(manager.create(new float[][] {{1, 2, 3}, {4, 5, 6}}));
        assertFalse(linear.isInitialized());
        linear.getDirectParameters().get("bias").setArray(manager.create(new float[] {10, 20}));
        assertTrue(linear.isInitialized());
        NDArray x = manager.create(new float[] {1, 0, 2, -1, 1, 1}, new Shape(1, 2, 1, 3));
        NDArray y = linear.forward(ps, new NDList(x), false).singletonOrThrow();
        assertEquals(new Shape(1, 2, 1, 2), y.getShape());
        assertArrayEquals(new float[] {17, 36, 14, 27}, y.toFloatArray());
        assertEquals("Linear(units=2, bias=true)", linear.toString());

        Linear plain = Linear.builder().setUnits(2).optBias(false).build();
        assertEquals(List.of("weight"), plain.getDirectParameters().keys());
        plain.getDirectParameters().get("weight").setArray(linear.getDirectParameters().get("weight").getArray());
        assertArrayEquals(
                new float[] {7, 16, 4, 7}, plain.forward(ps, new NDList(x), true).head().toFloatArray());
        refused("units is 0", () -> Linear.builder().build());
        refused("inputs has 0 arrays, expected 1", () -> plain.forward(ps, new NDList(), false));
        refused("(1, 2, 1, 4)", () -> plain.forward(ps, new NDList(manager.ones(new Shape(1, 2, 1, 4))), false));
        assertEquals(
                "the input",
                assertThrows(NullPointerException.class, () -> plain.forward(ps, new NDList((NDArray) null), false))
                        .getMessage());
    }

    @Test
    void dropoutDropsWhenTraining() {
        Dropout dropout = Dropout.builder().optRate(0.25f).build();
        assertTrue(dropout.isInitialized());
        NDArray x = manager.ones(new Shape(40, 50));
        assertArrayEquals(
                x.toFloatArray(), dropout.forward(ps, new NDList(x), false).head().toFloatArray());
        dropout.setSeed(3);
        float[] first = dropout.forward(ps, new NDList(x), true).head().toFloatArray();
        int kept = 0;
        for (float number : first) {
            assertTrue(number == 0 || number == 1 / 0.75f, "1 became " + number);
            kept += number == 0 ? 0 : 1;
        }
        // 2000 elements, each kept with probability 0.75: 1500, within six standard deviations.
        assertEquals(1500, kept, 6 * Math.sqrt(2000 * 0.75 * 0.25));
        assertFalse(Arrays.equals(first, dropout.forward(ps, new NDList(x), true).head().toFloatArray()));
        dropout.setSeed(3);
        assertArrayEquals(first, dropout.forward(ps, new NDList(x), true).head().toFloatArray());
        assertEquals("Dropout(rate=0.25)", dropout.toString());
        assertEquals("Dropout(rate=0.5)", Dropout.builder().build().toString());
        assertEquals(0, dropout.getParameters().size());
        refused("dropout", () -> Dropout.builder().optRate(1).build());
    }

    /**
     * A block without parameters needs no initialize, and works after the manager of its initialize has been closed.
     */
    @Test
    void blocksWithoutParametersOutliveTheirManager() {
        NDArray x = manager.ones(new Shape(1, 2, 4));
        PositionalEncoding encoding = PositionalEncoding.builder().setNumHiddens(4).setMaxLen(2).build();
        for (Block block : new Block[] {new DotProductAttention(0), Dropout.builder().build(), encoding}) {
            NDList inputs = block instanceof DotProductAttention ? new NDList(x, x, x) : new NDList(x);
            assertEquals(8, block.forward(ps, inputs, false).head().size());
            assertThrows(IllegalStateException.class, block::getInputShapes);
            try (NDManager sub = manager.newSubManager()) {
                block.initialize(sub, DataType.FLOAT32, inputs.getShapes());
            }
            assertTrue(block.isInitialized());
            assertArrayEquals(inputs.getShapes(), block.getInputShapes());
            assertEquals(8, block.forward(ps, inputs, false).head().size());
            block.cast(DataType.FLOAT16);
            block.clear();
            assertEquals(8, block.forward(ps, inputs, false).head().size());
            block.close();
            assertThrows(IllegalStateException.class, () -> block.forward(ps, inputs, false));
            assertThrows(IllegalStateException.class, block::isInitialized);
            assertThrows(IllegalStateException.class, block::clear);
        }
    }

    @Test
    void dotProductTakesHeads() {
        NDArray x = manager.randomNormal(new Shape(2, 3, 4, 8));
        DotProductAttention attention = new DotProductAttention(0);
        NDArray whole = attention.forward(ps, new NDList(x, x, x), false).head();
        assertEquals(x.getShape(), whole.getShape());
        assertEquals(new Shape(2, 3, 4, 4), attention.attentionWeights.getShape());
        NDArray inBatch = x.reshape(6, 4, 8);
        NDArray flat = attention.forward(ps, new NDList(inBatch, inBatch, inBatch, null), false).head();
        assertArrayEquals(whole.toFloatArray(), flat.toFloatArray());
        assertEquals(new Shape(6, 4, 4), attention.attentionWeights.getShape());

        DotProductAttention built = DotProductAttention.builder().build();
        assertArrayEquals(whole.toFloatArray(), built.forward(ps, new NDList(x, x, x), false).head().toFloatArray());
        assertNull(built.attentionWeights);
        built.setKeepAttentionWeights(true);
        built.forward(ps, new NDList(x, x, x), false);
        NDArray kept = built.attentionWeights;
        assertEquals(new Shape(2, 3, 4, 4), kept.getShape());
        built.setKeepAttentionWeights(false);
        assertNull(built.attentionWeights);
        assertTrue(kept.isReleased());
        assertFalse(built.isKeepAttentionWeights());
        assertFalse(multiHead().build().isKeepAttentionWeights());
        assertTrue(new MultiHeadAttention(4, 2, 0, false).isKeepAttentionWeights());
        // The block inside is a dot-product attention with the same options.
        NDArray causal = multiHead().optCausal(Causal.TOP_LEFT).build().attention
                .forward(ps, new NDList(x, x, x), false)
                .head();
        assertArrayEquals(
                DotProductAttention.builder()
                        .optCausal(Causal.TOP_LEFT)
                        .build()
                        .forward(ps, new NDList(x, x, x), false)
                        .head()
                        .toFloatArray(),
                causal.toFloatArray());
        assertFalse(Arrays.equals(whole.toFloatArray(), causal.toFloatArray()));
        assertEquals("DotProductAttention(dropout=0.5)", new DotProductAttention(0.5f).toString());
    }

    @Test
    void dropoutOfAttentionDiffersInEachForwardAndRepeatsWithItsSeed() {
        NDArray x = manager.randomNormal(new Shape(2, 8, 8));
        NDList inputs = new NDList(x, x, x);
        AdditiveAttention additive = new AdditiveAttention(6, 0.5f);
        additive.initialize(manager, DataType.FLOAT32, inputs.getShapes());
        GeneralAttention general = new GeneralAttention(8, 0.5f);
        general.initialize(manager, DataType.FLOAT32, inputs.getShapes());
        for (Block block : new Block[] {new DotProductAttention(0.5f), additive, general}) {
            block.setSeed(1);
            float[] first = block.forward(ps, inputs, true, new PairList<>()).head().toFloatArray();
            assertFalse(Arrays.equals(first, block.forward(ps, inputs, true).head().toFloatArray()));
            block.setSeed(1);
            assertArrayEquals(first, block.forward(ps, inputs, true).head().toFloatArray());
        }
        assertEquals("AdditiveAttention(numHiddens=6, dropout=0.5)", additive.toString());
        assertEquals(List.of("W_q.weight", "W_k.weight", "w_v.weight"), additive.getParameters().keys());
    }

    @Test
    void options() {
        refused("numHiddens", () -> new AdditiveAttention(0, 0));
        refused("dropout", () -> new AdditiveAttention(4, 1.5f));
        refused("dropout", () -> new DotProductAttention(Float.NaN));
        refused("softCap", () -> DotProductAttention.builder().optSoftCap(-1).build());
        refused("scale", () -> DotProductAttention.builder().optScale(Float.POSITIVE_INFINITY).build());
        refused("windowLeft", () -> AdditiveAttention.builder().setNumHiddens(2).optWindow(Window.NONE, 1, 1).build());
        refused("numHeads", () -> MultiHeadAttention.builder().setNumHiddens(4).build());
        refused("numKvHeads", () -> multiHead().optNumKvHeads(3).build());
        refused("outputSize", () -> multiHead().optOutputProjection(false).optOutputSize(3).build());
        refused("Bias.O", () -> multiHead().optOutputProjection(false).optBiases(Bias.O).build());
        assertThrows(NullPointerException.class, () -> multiHead().optCausal(null));
        assertThrows(NullPointerException.class, () -> multiHead().optWindow(null, 0, 0));
        assertThrows(NullPointerException.class, () -> multiHead().optEmptyRows(null));
        assertThrows(NullPointerException.class, () -> multiHead().optScoring(null));
        assertThrows(NullPointerException.class, () -> multiHead().optBiases((Bias) null));
    }

    /** Changing a builder does not change the blocks that it has built. */
    @Test
    void aBuilderMakesManyBlocks() {
        MultiHeadAttention.Builder builder = multiHead().optBiases(Bias.Q);
        MultiHeadAttention first = builder.build();
        MultiHeadAttention second = builder.optBias(true).setNumHiddens(8).build();
        first.initialize(manager, DataType.FLOAT32, new Shape(1, 2, 4), new Shape(1, 2, 4), new Shape(1, 2, 4));
        assertEquals(
                List.of("W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "W_q.bias"),
                sorted(first.getParameters().keys()));
        assertEquals(8, second.getParameters().size());
        assertEquals(
                "MultiHeadAttention(numHiddens=4, numHeads=2, biases=[Q], dropout=0.0)", first.toString());
        assertEquals("MultiHeadAttention(numHiddens=8, numHeads=2, useBias=true, dropout=0.0)", second.toString());
        assertNull(first.attention.attentionWeights);
    }

    @Test
    void tellsTheShapesOfOutputs() {
        Shape q = new Shape(2, 4, 20);
        Shape k = new Shape(2, 6, 10);
        Shape v = new Shape(2, 6, 12);
        assertShapes(new Shape(2, 4, 12), new AdditiveAttention(8, 0), q, k, v, new Shape(2));
        assertShapes(new Shape(2, 4, 4), multiHead().build(), q, k, v);
        assertShapes(
                new Shape(2, 4, 14),
                multiHead().optOutputProjection(false).optValueHeadSize(7).build(),
                q,
                k,
                v,
                null);
        assertShapes(new Shape(2, 3, 4, 9), new DotProductAttention(0), new Shape(2, 3, 4, 5), new Shape(2, 3, 6, 5),
                new Shape(2, 3, 6, 9));
        assertShapes(new Shape(7, 3), Linear.builder().setUnits(3).build(), new Shape(7, 5));
        assertShapes(new Shape(5, 0), Dropout.builder().build(), new Shape(5, 0));

        Linear linear = Linear.builder().setUnits(3).build();
        Shape[] in = {new Shape(7, 5)};
        assertArrayEquals(
                new Shape[] {new Shape(7, 3)}, linear.getOutputShapes(in, new DataType[] {DataType.BFLOAT16}));
        refused("INT32", () -> linear.getOutputShapes(in, new DataType[] {DataType.INT32}));
        refused("inputDataTypes has 0 types, expected 1", () -> linear.getOutputShapes(in, new DataType[0]));
        refused("inputShapes has 0 shapes, expected 1", () -> linear.getOutputShapes(new Shape[0]));
        refused("(3, 6, 10)", () -> multiHead().build().getOutputShapes(new Shape[] {q, new Shape(3, 6, 10), v}));
        linear.initialize(manager, DataType.FLOAT32, in);
        refused("(7, 6)", () -> linear.getOutputShapes(new Shape[] {new Shape(7, 6)}));
    }

    private static void assertShapes(Shape expected, Block block, Shape... inputs) {
        assertArrayEquals(new Shape[] {expected}, block.getOutputShapes(inputs));
    }

    private static MultiHeadAttention.Builder multiHead() {
        return MultiHeadAttention.builder().setNumHiddens(4).setNumHeads(2);
    }

    /** Weights before biases, each in the block's order. */
    private static List<String> sorted(List<String> names) {
        names.sort((a, b) -> Boolean.compare(a.endsWith("bias"), b.endsWith("bias")));
        return names;
    }

    private static void refused(String words, Executable use) {
        String message = assertThrows(IllegalArgumentException.class, use).getMessage();
        assertTrue(message.contains(words), message);
    }
}
