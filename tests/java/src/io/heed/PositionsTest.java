// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Options and inputs of attention that depend on positions, and what packed batches give. */
class PositionsTest {
    /** The dot product of a vector of four elements with unit vectors differs from its elements by less. */
    private static final float ROUNDING = 4 * 4 * Math.ulp(1f);

    private NDManager manager;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** Su et al.'s rotation of (1, 2, 3, 4) at position 3, computed in f64. */
    @Test
    void rotaryPositionsTurnThePairsOfTheirLayout() {
        assertArrayEquals(
                new float[] {-1.272233f, -1.838865f, 2.878668f, 4.088187f},
                rotated(Rope.builder().setLayout(RopeLayout.INTERLEAVED)), ROUNDING);
        assertArrayEquals(
                new float[] {-1.413353f, 1.879118f, -2.828857f, 4.058191f},
                rotated(Rope.builder().setLayout(RopeLayout.HALF)), ROUNDING);
        assertArrayEquals(
                new float[] {-1.313227f, 1.969944f, 2.876705f, 4.014887f},
                rotated(half(RopeScaling.LINEAR).optFactor(4)), ROUNDING);
        // Frequencies that are all divided by 4, and the same with cosines and sines of query and key times 2.
        assertArrayEquals(
                new float[] {-1.313227f, 1.969944f, 2.876705f, 4.014887f},
                rotated(half(RopeScaling.FACTORS).optFactors(4, 4).optAttentionFactor(1)), ROUNDING);
        assertArrayEquals(
                new float[] {-5.252908f, 7.879776f, 11.506820f, 16.059548f},
                rotated(half(RopeScaling.FACTORS).optFactors(4, 4).optAttentionFactor(2)), 4 * ROUNDING);
        // Only the last two elements, by the angle 3.
        assertArrayEquals(
                new float[] {1, 2, -3.534458f, -3.536610f},
                rotated(Rope.builder().setLayout(RopeLayout.HALF).optRotaryOffset(2)), ROUNDING);
        assertArrayEquals(
                rotated(Rope.builder().setLayout(RopeLayout.HALF).optRotaryOffset(2)),
                rotated(Rope.builder().setLayout(RopeLayout.HALF).optRotaryOffset(2).optRotarySize(2).optBase(7)));
        assertArrayEquals(
                rotated(Rope.builder().setLayout(RopeLayout.HALF)),
                rotated(Rope.builder().setLayout(RopeLayout.HALF).optBase(10000)));
        assertFalse(Arrays.equals(
                rotated(Rope.builder().setLayout(RopeLayout.HALF)),
                rotated(Rope.builder().setLayout(RopeLayout.HALF).optBase(500000))));
        // Every option of a scaling, and defaults that are given by number.
        assertArrayEquals(
                rotated(half(RopeScaling.YARN).optFactor(4).optOriginalLength(8)),
                rotated(half(RopeScaling.YARN).optFactor(4).optOriginalLength(8).optBetaFast(32).optBetaSlow(1)));
        assertArrayEquals(
                rotated(half(RopeScaling.LLAMA3).optFactor(4).optOriginalLength(8)),
                rotated(half(RopeScaling.LLAMA3)
                        .optFactor(4)
                        .optOriginalLength(8)
                        .optLowFreqFactor(1)
                        .optHighFreqFactor(4)));
        assertEquals(
                "Rope(layout=HALF, base=500.0, scaling=NTK)", half(RopeScaling.NTK).optBase(500).build().toString());
    }

    /** Each option reaches its own member: C names the one that the scaling does not use. */
    @Test
    void optionsOfRotaryPositionsAreNamed() {
        Map<String, Consumer<Rope.Builder>> unused = new TreeMap<>();
        unused.put("factor is set", rope -> rope.optFactor(2));
        unused.put("factors is set", rope -> rope.optFactors(2, 2));
        unused.put("originalLength is set", rope -> rope.optOriginalLength(2));
        unused.put("betaFast is set", rope -> rope.optBetaFast(2));
        unused.put("betaSlow is set", rope -> rope.optBetaSlow(2));
        unused.put("rounding is false", rope -> rope.optRounding(false));
        unused.put("lowFreqFactor is set", rope -> rope.optLowFreqFactor(2));
        unused.put("highFreqFactor is set", rope -> rope.optHighFreqFactor(2));
        unused.forEach((sentence, option) -> {
            Rope.Builder rope = Rope.builder().setLayout(RopeLayout.HALF);
            option.accept(rope);
            refused(sentence + ", but scaling is RopeScaling.NONE", () -> attention(rope));
        });
        Map<String, Rope.Builder> wrong = new TreeMap<>();
        wrong.put("layout is 0, expected RopeLayout.HALF (1) or RopeLayout.INTERLEAVED (2)", Rope.builder());
        wrong.put("rotarySize is 3", Rope.builder().setLayout(RopeLayout.HALF).optRotarySize(3));
        wrong.put("rotaryOffset is 4", Rope.builder().setLayout(RopeLayout.HALF).optRotaryOffset(4));
        wrong.put("base is -1", Rope.builder().setLayout(RopeLayout.HALF).optBase(-1));
        wrong.put("attentionFactor is -1", Rope.builder().setLayout(RopeLayout.HALF).optAttentionFactor(-1));
        wrong.put(
                "the number of factors is 3, expected one for each pair, rotarySize / 2 = 2",
                half(RopeScaling.FACTORS).optFactors(1, 1, 1).optAttentionFactor(1));
        wrong.put("factors[1] is NaN", half(RopeScaling.FACTORS).optFactors(1, Float.NaN).optAttentionFactor(1));
        wrong.put("RopeScaling.NTK", half(RopeScaling.NTK).optFactor(2).optRotarySize(2));
        wrong.forEach((sentence, rope) -> refused(sentence, () -> attention(rope)));
        assertThrows(NullPointerException.class, () -> Rope.builder().setLayout(null));
        assertThrows(NullPointerException.class, () -> Rope.builder().optScaling(null));
        assertThrows(NullPointerException.class, () -> Rope.builder().optFactors((float[]) null));
    }

    /** A builder of rotary positions may be used again, and its array changed. */
    @Test
    void rotaryPositionsDoNotChangeWithTheirBuilder() {
        float[] factors = {4, 4};
        Rope.Builder builder = half(RopeScaling.FACTORS).optFactors(factors).optAttentionFactor(1);
        Rope rope = builder.build();
        factors[0] = Float.NaN;
        builder.setLayout(RopeLayout.INTERLEAVED).optFactors(1, 1);
        assertArrayEquals(
                new float[] {-1.313227f, 1.969944f, 2.876705f, 4.014887f}, rotated(rope), ROUNDING);
    }

    /** Scores 1 and 2, values 10 and 20, and a third score of 0.5 without a value. */
    @Test
    void sinksTakeAShareWithoutAValue() {
        AttentionInputs inputs = new AttentionInputs()
                .setQueries(manager.ones(new Shape(1, 1, 1)))
                .setKeys(manager.create(new float[] {1, 2}, new Shape(1, 2, 1)))
                .setValues(manager.create(new float[] {10, 20}, new Shape(1, 2, 1)))
                .setSinks(manager.create(new float[] {0.5f}));
        DotProductAttention attention = DotProductAttention.builder().optScale(1).build();
        AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.OUTPUT, Wanted.LOG_SUM_EXP);
        attention.forward(inputs, outputs, null);
        assertEquals(14.882873f, outputs.getOutput().getFloat(0, 0, 0), 8 * Math.ulp(15f));
        assertEquals(2.464369f, outputs.getLogSumExp().getFloat(0, 0), 8 * Math.ulp(2f));
        inputs.setSinks(null);
        attention.forward(inputs, outputs, null);
        assertEquals(17.310586f, outputs.getOutput().getFloat(0, 0, 0), 8 * Math.ulp(17f));

        MultiHeadAttention owner = builder().optSinks(true).build();
        NDArray x = manager.randomNormal(new Shape(1, 3, 8));
        owner.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        assertEquals(new Shape(2), owner.getParameters().get("sinks").getShape());
        refused("sinks is set, but the block has the parameter sinks",
                () -> output(owner, new AttentionInputs().setQueries(x).setSinks(manager.ones(new Shape(2)))));
    }

    @Test
    void optionsAddTheirParameters() {
        assertEquals(Map.of("q_norm.weight", new Shape(4), "k_norm.weight", new Shape(4)),
                added(builder().optNumKvHeads(1).optQkNorm(QkNorm.RMS, 1e-6f)));
        assertEquals(Map.of("q_norm.weight", new Shape(2, 4), "k_norm.weight", new Shape(1, 4)),
                added(builder().optNumKvHeads(1).optQkNorm(QkNorm.LAYER, 1e-6f)));
        assertEquals(Map.of("relative_bias.weight", new Shape(32, 2)),
                added(builder().optRelativeBias(RelativeBias.BOTH_WAYS)));
        assertEquals(Map.of("relative_bias.weight", new Shape(7, 2)),
                added(builder().optRelativeBias(RelativeBias.ONE_WAY).optRelativeBiasBuckets(7)));
        refused("relativeBiasMaxDistance is 3",
                () -> builder().optRelativeBias(RelativeBias.ONE_WAY).optRelativeBiasMaxDistance(3).build());
        refused("relativeBiasBuckets is 7, but relativeBias is RelativeBias.NONE",
                () -> builder().optRelativeBiasBuckets(7).build());
        refused("qkNorm is QkNorm.LAYER, but qkNormEpsilon is 0",
                () -> builder().optQkNorm(QkNorm.LAYER, 0).build());
        refused("qkNormEpsilon is -1", () -> builder().optQkNorm(QkNorm.RMS, -1).build());
        assertThrows(NullPointerException.class, () -> builder().optQkNorm(null, 1));
        assertThrows(NullPointerException.class, () -> builder().optRelativeBias(null));
        assertThrows(NullPointerException.class, () -> builder().optAlibi(null));
        assertEquals(4, builder().optRope(null).build().getParameters().size());
    }

    /** The bias of the bucket of distance 0, of keys before the query and of those after it. */
    @Test
    void relativeBiasReadsItsBuckets() {
        NDArray x = manager.zeros(new Shape(1, 2, 8));
        MultiHeadAttention attention = builder().optRelativeBias(RelativeBias.BOTH_WAYS).build();
        attention.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        float[] table = new float[32 * 2];
        table[2 * 1] = 1; // a key one before the query, head 0
        table[2 * 17] = 2; // one behind it
        attention.getParameters().get("relative_bias.weight").setArray(manager.create(table, new Shape(32, 2)));
        AttentionInputs inputs = new AttentionInputs().setQueries(x);
        AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.LOG_SUM_EXP);
        attention.forward(inputs, outputs, null);
        double none = Math.log(2);
        assertArrayEquals(
                new double[] {Math.log(1 + Math.exp(2)), Math.log(1 + Math.exp(1)), none, none},
                outputs.getLogSumExp().toType(DataType.FLOAT64, false).toDoubleArray(), 8 * Math.ulp(2f));
    }

    @Test
    void alibiAsAnOptionIsTheInputOfItsSlopes() {
        NDArray x = manager.randomNormal(new Shape(2, 5, 8));
        MultiHeadAttention plain = builder().build();
        plain.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        MultiHeadAttention attention = withParametersOf(plain, builder().optAlibi(Alibi.ADDED));
        AttentionInputs inputs = new AttentionInputs().setQueries(x);
        float[] own = output(attention, inputs);
        float[] scaled = output(withParametersOf(plain, builder().optAlibi(Alibi.SCALED)), inputs);
        inputs.setAlibiSlopes(AttentionInputs.createAlibiSlopes(manager, 2));
        assertArrayEquals(output(plain, inputs), own);
        assertFalse(Arrays.equals(own, scaled));
        refused("alibiSlopes is set, but the block has slopes of its own, by alibi", () -> output(attention, inputs));
    }

    /** Packed, each alone, and padded with queryLens: the same bits. */
    @Test
    void packedRowsHaveTheBitsOfEachAlone() {
        int[] lens = {3, 0, 1, 6};
        int[] offsets = {0, 3, 3, 4, 10};
        MultiHeadAttention attention = builder()
                .optCausal(Causal.BOTTOM_RIGHT)
                .optRope(Rope.builder().setLayout(RopeLayout.HALF).build())
                .build();
        NDArray words = manager.randomNormal(new Shape(10, 8));
        Shape any = new Shape(1, 6, 8);
        attention.initialize(manager, DataType.FLOAT32, any, any, any);
        AttentionInputs packed =
                new AttentionInputs().setQueries(words).setQueryOffsets(manager.create(offsets));
        AttentionOutputs outputs = attention.createOutputs(packed, Wanted.OUTPUT, Wanted.LOG_SUM_EXP);
        assertEquals(new Shape(10, 8), outputs.getOutput().getShape());
        assertEquals(new Shape(2, 10), outputs.getLogSumExp().getShape());
        attention.forward(packed, outputs, null);

        float[] padded = new float[4 * 6 * 8];
        for (int b = 0; b < lens.length; b++) {
            float[] rows = words.slice(0, offsets[b], lens[b]).toFloatArray();
            System.arraycopy(rows, 0, padded, b * 6 * 8, rows.length);
        }
        float[] ofPadded = output(attention, new AttentionInputs()
                .setQueries(manager.create(padded, new Shape(4, 6, 8)))
                .setQueryLens(manager.create(lens)));
        for (int b = 0; b < lens.length; b++) {
            float[] found = outputs.getOutput().slice(0, offsets[b], lens[b]).toFloatArray();
            NDArray alone = words.slice(0, offsets[b], lens[b]).expandDims(0);
            assertArrayEquals(found, output(attention, new AttentionInputs().setQueries(alone)));
            int begin = b * 6 * 8;
            assertArrayEquals(found, Arrays.copyOfRange(ofPadded, begin, begin + lens[b] * 8));
            assertArrayEquals(
                    new float[(6 - lens[b]) * 8], Arrays.copyOfRange(ofPadded, begin + lens[b] * 8, begin + 6 * 8));
        }
        packed.setKeys(manager.randomNormal(new Shape(7, 8)));
        refused("keyOffsets is null",
                () -> output(attention, packed));
        packed.setKeyOffsets(manager.create(new long[] {0, 1, 2, 2, 7}));
        assertEquals(80, output(attention, packed).length);
        packed.setValidLens(manager.create(lens));
        refused("validLens is set, but so is queryOffsets, by which the batch is packed: expected null",
                () -> output(attention, packed));
    }

    /** Two calls with half of the queries each, at their positions, give what one call gives. */
    @Test
    void positionsSayWhereQueriesStand() {
        NDArray x = manager.randomNormal(new Shape(1, 6, 8));
        for (Causal causal : new Causal[] {Causal.TOP_LEFT, Causal.BOTTOM_RIGHT}) {
            MultiHeadAttention attention = builder()
                    .optCausal(causal)
                    .optAlibi(Alibi.ADDED)
                    .optRope(Rope.builder().setLayout(RopeLayout.INTERLEAVED).build())
                    .build();
            attention.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
            float[] whole = output(attention, new AttentionInputs().setQueries(x));
            for (int first : new int[] {0, 3}) {
                float[] part = output(attention, new AttentionInputs()
                        .setQueries(x.slice(1, first, 3))
                        .setKeys(x)
                        .setPositions(manager.create(new int[] {first, first + 1, first + 2}, new Shape(1, 3))));
                assertArrayEquals(Arrays.copyOfRange(whole, first * 8, (first + 3) * 8), part, 1e-5f);
            }
            refused("positions[0, 1] is -1, expected a position from 0 to 2147483647",
                    () -> output(attention, new AttentionInputs()
                            .setQueries(x.slice(1, 0, 2))
                            .setPositions(manager.create(new int[] {0, -1}, new Shape(1, 2)))));
        }
    }

    /** Positions beyond a learned table, offsets that fall, and lengths beside offsets. */
    @Test
    void wrongRowsAreNamed() {
        PositionalEncoding table = PositionalEncoding.builder()
                .setNumHiddens(8)
                .setMaxLen(3)
                .optKind(PositionKind.LEARNED)
                .optFirstRow(2)
                .build();
        table.getParameters().get("weight").setArray(manager.ones(new Shape(5, 8)));
        AttentionInputs positions = new AttentionInputs()
                .setQueries(manager.zeros(new Shape(1, 2, 8)))
                .setPositions(manager.create(new int[] {0, 3}, new Shape(1, 2)));
        refused("positions[0, 1] is 3, expected a position from 0 to 2", () -> output(table, positions));

        MultiHeadAttention attention = builder().build();
        Shape any = new Shape(1, 6, 8);
        attention.initialize(manager, DataType.FLOAT32, any, any, any);
        AttentionInputs packed = new AttentionInputs()
                .setQueries(manager.ones(new Shape(4, 8)))
                .setQueryOffsets(manager.create(new int[] {0, 3, 1, 4}));
        refused("queryOffsets[2] is 1, below 3 before it: expected offsets that never fall",
                () -> output(attention, packed));
        packed.setQueryOffsets(manager.create(new int[] {0, 3, 4}))
                .setQueryLens(manager.create(new int[] {3, 1}));
        refused("queryLens is set, but so is queryOffsets", () -> output(attention, packed));
    }

    private static MultiHeadAttention.Builder builder() {
        return MultiHeadAttention.builder().setNumHiddens(8).setNumHeads(2);
    }

    private static Rope.Builder half(RopeScaling scaling) {
        return Rope.builder().setLayout(RopeLayout.HALF).optScaling(scaling);
    }

    private static MultiHeadAttention attention(Rope.Builder rope) {
        return MultiHeadAttention.builder()
                .setNumHiddens(4)
                .setNumHeads(1)
                .optScale(1)
                .optRope(rope.build())
                .build();
    }

    private float[] rotated(Rope.Builder rope) {
        return rotated(rope.build());
    }

    /** The vector (1, 2, 3, 4) at position 3: its scores with a unit vector at position 0 for each element. */
    private float[] rotated(Rope rope) {
        MultiHeadAttention attention = MultiHeadAttention.builder()
                .setNumHiddens(4)
                .setNumHeads(1)
                .optScale(1)
                .optRope(rope)
                .build();
        NDArray identity =
                manager.create(new float[] {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, new Shape(4, 4));
        for (Parameter parameter : attention.getParameters().values()) {
            parameter.setArray(identity);
        }
        AttentionInputs inputs = new AttentionInputs()
                .setQueries(manager.create(new float[] {1, 2, 3, 4}, new Shape(1, 1, 4)).repeat(0, 4))
                .setKeys(identity.reshape(4, 1, 4))
                .setPositions(manager.create(new int[] {3, 3, 3, 3}, new Shape(4, 1)));
        AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.LOG_SUM_EXP);
        attention.forward(inputs, outputs, null);
        return outputs.getLogSumExp().toFloatArray();
    }

    /** The parameters that a block has beside those of the projections. */
    private Map<String, Shape> added(MultiHeadAttention.Builder builder) {
        MultiHeadAttention attention = builder.build();
        Shape any = new Shape(1, 1, 8);
        attention.initialize(manager, DataType.FLOAT32, any, any, any);
        Map<String, Shape> shapes = new TreeMap<>();
        for (Pair<String, Parameter> parameter : attention.getParameters()) {
            if (!List.of("W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight").contains(parameter.getKey())) {
                shapes.put(parameter.getKey(), parameter.getValue().getShape());
            }
        }
        return shapes;
    }

    private static MultiHeadAttention withParametersOf(MultiHeadAttention other, MultiHeadAttention.Builder builder) {
        MultiHeadAttention made = builder.build();
        for (Pair<String, Parameter> parameter : other.getParameters()) {
            made.getParameters().get(parameter.getKey()).setArray(parameter.getValue().getArray());
        }
        return made;
    }

    private static float[] output(NativeBlock block, AttentionInputs inputs) {
        AttentionOutputs outputs = block.createOutputs(inputs);
        block.forward(inputs, outputs, null);
        return outputs.getOutput().toFloatArray();
    }

    private static void refused(String words, Executable use) {
        String message = assertThrows(IllegalArgumentException.class, use).getMessage();
        assertTrue(message.contains(words), message);
    }
}
