// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Gradients through heed's blocks: those of NativeLayer.backward, bit for bit. */
class BlockGradientsTest {
    private NDManager manager;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
    }

    @AfterEach
    void close() {
        manager.close();
    }

    private NDArray random(long seed, long... dims) {
        Shape shape = new Shape(dims);
        Random random = new Random(seed);
        float[] elements = new float[(int) shape.size()];
        for (int i = 0; i < elements.length; i++) {
            elements[i] = (float) random.nextGaussian();
        }
        return manager.create(elements, shape);
    }

    private NDArray leaf(long seed, long... dims) {
        NDArray made = random(seed, dims);
        made.setRequiresGradient(true);
        return made;
    }

    private static GradientCollector collector() {
        return Engine.getInstance().newGradientCollector();
    }

    private MultiHeadAttention attention() {
        MultiHeadAttention made = new MultiHeadAttention(8, 2, 0.25f, true);
        made.setSeed(5);
        made.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 8), new Shape(2, 4, 8), new Shape(2, 4, 8));
        return made;
    }

    private TransformerEncoder encoder() {
        TransformerEncoder made = TransformerEncoder.builder()
                .setLayer(TransformerEncoderBlock.builder()
                        .setAttention(MultiHeadAttention.builder().setNumHiddens(8).setNumHeads(2).optBias(true))
                        .setFeedForward(FeedForward.builder().setHiddenSize(12)))
                .setNumLayers(2)
                .optEmbedding(Embedding.builder().setNumEmbeddings(11))
                .build();
        made.setSeed(3);
        made.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        return made;
    }

    /** What NativeLayer.backward gives for the output's gradient: those of parameters and, in `parts`, of inputs. */
    private NativeGradients direct(
            NativeBlock block, NDArray[] inputs, boolean training, long seed, NDArray output, NDArray... parts) {
        try (NativeLayer layer = block.newLayer(manager.openContext());
                LayerCall call = LayerCall.in(manager.openContext())) {
            for (Parameter each : block.getParameters().values()) {
                try (NDArray value = each.getArray()) {
                    layer.setParameter(((LayerParameter) each).nativeName, value.tensor());
                }
            }
            NativeGradients gradients = NativeGradients.create(layer);
            int[] members = GradientMembers.ofInputs();
            call.dropout(training, seed).read(inputs).write((NativeTensor) null, null);
            call.backward(layer, output, parts, members, gradients);
            return gradients;
        }
    }

    private static float[] of(NativeGradients gradients, String name) {
        try (NativeTensor gradient = gradients.tensor(NativeText.of(name, "name"))) {
            float[] elements = new float[(int) new Shape(ArrayData.dimsOf(gradient)).size()];
            gradient.read(elements);
            return elements;
        }
    }

    private static float[] gradientOf(Block block, String name) {
        return block.getParameters().get(name).getArray().getGradient().toFloatArray();
    }

    @Test
    void gradientsOfAnAttentionAreThoseOfTheLayer() {
        MultiHeadAttention attention = attention();
        NDArray queries = leaf(1, 2, 3, 8);
        NDArray keys = leaf(2, 2, 4, 8);
        NDArray values = random(3, 2, 4, 8);
        NDArray lens = manager.create(new int[] {2, 4});
        NDArray weights = random(4, 2, 3, 8);
        attention.setSeed(77);
        try (GradientCollector collector = collector()) {
            NDArray output =
                    attention.forward(new ParameterStore(), new NDList(queries, keys, values, lens), true).get(0);
            collector.backward(output.mul(weights));
        }
        NDArray ofQueries = manager.create(queries.getShape());
        NDArray ofKeys = manager.create(keys.getShape());
        try (NativeGradients expected =
                direct(attention, new NDArray[] {queries, keys, values, lens}, true, 77, weights, ofQueries, ofKeys)) {
            assertEquals(8, expected.count());
            for (Pair<String, Parameter> each : attention.getParameters()) {
                assertArrayEquals(of(expected, each.getKey()), gradientOf(attention, each.getKey()), each.getKey());
            }
        }
        assertEquals(ofQueries, queries.getGradient());
        assertEquals(ofKeys, keys.getGradient());
        assertFalse(values.hasGradient());
    }

    @Test
    void gradientsOfAnEncoderAreThoseOfTheLayer() {
        TransformerEncoder encoder = encoder();
        NDArray ids = manager.create(new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, new Shape(2, 5));
        NDArray lens = manager.create(new int[] {3, 5});
        NDArray weights = random(4, 2, 5, 8);
        try (GradientCollector collector = collector()) {
            collector.backward(encoder.forward(ids, lens).get(0).mul(weights).sum());
        }
        try (NativeGradients expected = direct(encoder, placed(ids, lens), false, 0, weights)) {
            for (Pair<String, Parameter> each : encoder.getParameters()) {
                assertArrayEquals(of(expected, each.getKey()), gradientOf(encoder, each.getKey()), each.getKey());
            }
        }
        // A second forward adds to them.
        float[] once = gradientOf(encoder, "layers.1.self_attention.W_v.weight");
        try (GradientCollector collector = collector()) {
            collector.backward(encoder.forward(ids, lens).get(0).mul(weights).sum());
        }
        float[] twice = gradientOf(encoder, "layers.1.self_attention.W_v.weight");
        for (int i = 0; i < once.length; i++) {
            assertEquals(2 * once[i], twice[i], 1e-5 * Math.abs(once[i]) + 1e-7);
        }
    }

    /** The inputs of an encoder as AttentionInputs has them. */
    private static NDArray[] placed(NDArray ids, NDArray lens) {
        AttentionInputs inputs = new AttentionInputs().setQueries(ids).setValidLens(lens);
        return inputs.arrays();
    }

    @Test
    void aBlockThatIsUsedTwiceHasTheSum() {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        NDArray x = leaf(1, 2, 3);
        try (GradientCollector collector = collector()) {
            NDArray y = linear.forward(linear.forward(x).get(0).tanh()).get(0);
            collector.backward(y.square().mean());
        }
        assertDifferences(() -> linear.forward(linear.forward(x).get(0).tanh()).get(0).square().mean(), x);
        assertDifferencesOf(() -> linear.forward(linear.forward(x).get(0).tanh()).get(0).square().mean(), linear);
    }

    private interface Loss {
        NDArray of();
    }

    /** FLOAT32 allows coarse differences alone. */
    private void assertDifferences(Loss loss, NDArray x) {
        float[] gradient = x.getGradient().toFloatArray();
        float[] elements = x.toFloatArray();
        for (int i = 0; i < elements.length; i++) {
            float before = elements[i];
            elements[i] = before + 0.01f;
            x.set(elements);
            double above = loss.of().getFloat();
            elements[i] = before - 0.01f;
            x.set(elements);
            double below = loss.of().getFloat();
            elements[i] = before;
            x.set(elements);
            assertEquals((above - below) / 0.02, gradient[i], 2e-3);
        }
    }

    private void assertDifferencesOf(Loss loss, Block block) {
        for (Parameter each : block.getParameters().values()) {
            assertDifferences(loss, each.getArray());
        }
    }

    @Test
    void childrenAddToTheGradientsOfTheWhole() {
        TransformerEncoder encoder = encoder();
        NDArray ids = manager.create(new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, new Shape(2, 5));
        try (GradientCollector collector = collector()) {
            NDArray rows = random(9, 2, 5, 8);
            collector.backward(encoder.getChildren().get("layers.1").forward(rows).get(0).square().sum());
            float[] gradient = gradientOf(encoder, "layers.1.self_attention.W_q.weight");
            assertTrue(norm(gradient) > 0);
            assertEquals(0, norm(gradientOf(encoder, "layers.0.self_attention.W_q.weight")));
            assertArrayEquals(gradient, gradientOf(encoder.getChildren().get("layers.1"), "self_attention.W_q.weight"));
            collector.backward(encoder.getChildren().get("layers.1").forward(rows).get(0).square().sum());
            float[] twice = gradientOf(encoder, "layers.1.self_attention.W_q.weight");
            for (int i = 0; i < twice.length; i++) {
                assertEquals(2 * gradient[i], twice[i]);
            }
            collector.backward(encoder.forward(ids).get(0).square().sum());
            collector.zeroGradients();
            assertEquals(0, norm(gradientOf(encoder, "layers.1.self_attention.W_q.weight")));
        }
    }

    private static double norm(float[] elements) {
        double sum = 0;
        for (float each : elements) {
            sum += (double) each * each;
        }
        return Math.sqrt(sum);
    }

    @Test
    void frozenParametersHaveNoGradient() {
        MultiHeadAttention attention = attention();
        NDArray queries = random(1, 2, 3, 8);
        attention.getParameters().get("W_q.weight").freeze(true);
        try (GradientCollector collector = collector()) {
            collector.backward(attention.forward(queries, queries, queries).get(0).square());
        }
        Parameter frozen = attention.getParameters().get("W_q.weight");
        assertFalse(frozen.getArray().hasGradient());
        assertThrows(IllegalStateException.class, () -> frozen.getArray().getGradient());
        float[] gradient = gradientOf(attention, "W_k.weight");
        assertTrue(norm(gradient) > 0);
        // Those of the others stay.
        attention.getParameters().get("W_v.weight").freeze(true);
        frozen.freeze(false);
        assertArrayEquals(gradient, gradientOf(attention, "W_k.weight"));
        assertEquals(0, norm(gradientOf(attention, "W_q.weight")));
        attention.freezeParameters(true);
        try (GradientCollector collector = collector()) {
            NDArray output = attention.forward(queries, queries, queries).get(0);
            assertThrows(IllegalArgumentException.class, () -> collector.backward(output));
            queries.setRequiresGradient(true);
            collector.backward(attention.forward(queries, queries, queries).get(0).square());
        }
        assertTrue(norm(queries.getGradient().toFloatArray()) > 0);
        // A new layer knows them too.
        attention.clear();
        attention.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 8), new Shape(2, 3, 8), new Shape(2, 3, 8));
        attention.getParameters().get("W_o.weight").freeze(false);
        try (GradientCollector collector = collector()) {
            collector.backward(attention.forward(queries, queries, queries).get(0).square());
        }
        assertTrue(norm(gradientOf(attention, "W_o.weight")) > 0);
    }

    @Test
    void inputsOfAllFormsHaveGradients() {
        DotProductAttention attention = new DotProductAttention(0);
        NDArray queries = leaf(1, 2, 3, 4);
        NDArray keys = leaf(2, 2, 5, 4);
        NDArray values = leaf(3, 2, 5, 4);
        NDArray bias = leaf(4, 3, 5);
        AttentionInputs inputs =
                new AttentionInputs().setQueries(queries).setKeys(keys).setValues(values).setBias(bias);
        try (GradientCollector collector = collector()) {
            collector.backward(attention.forward(inputs).square().sum());
        }
        for (NDArray each : new NDArray[] {queries, keys, values, bias}) {
            assertDifferences(() -> attention.forward(inputs).square().sum(), each);
        }
        NDArray[] before = {queries.getGradient().duplicate(), keys.getGradient().duplicate()};
        queries.getGradient().muli(0);
        keys.getGradient().muli(0);
        try (GradientCollector collector = collector()) {
            NDArray output = DotProductAttention.scaledDotProductAttention(queries, keys, values);
            NDArray same = queries.matMul(keys.swapAxes(1, 2)).div(2).softmax(-1).matMul(values);
            collector.backward(output.sub(same).sum());
        }
        assertTrue(queries.getGradient().allClose(manager.zeros(queries.getShape()), 0, 1e-5, false));
        assertTrue(norm(before[0].toFloatArray()) > 0);
    }

    @Test
    void inputsOfADecoderHaveGradients() {
        TransformerDecoder decoder = TransformerDecoder.builder()
                .setLayer(TransformerDecoderBlock.builder()
                        .setSelfAttention(MultiHeadAttention.builder().setNumHiddens(4).setNumHeads(2))
                        .optCrossAttention(MultiHeadAttention.builder().setNumHiddens(4).setNumHeads(2))
                        .setFeedForward(FeedForward.builder().setHiddenSize(3)))
                .setNumLayers(1)
                .build();
        decoder.setSeed(2);
        decoder.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4), new Shape(1, 2, 4));
        NDArray rows = leaf(1, 1, 3, 4);
        NDArray encoded = leaf(2, 1, 2, 4);
        NDArray bias = leaf(3, 3, 3);
        NDArray weights = random(5, 1, 3, 4);
        AttentionInputs inputs = new AttentionInputs().setQueries(rows).setKeys(encoded).setSelfBias(bias);
        Loss loss = () -> decoder.forward(inputs).mul(weights).sum();
        try (GradientCollector collector = collector()) {
            collector.backward(loss.of());
        }
        NDArray[] given = inputs.arrays();
        NDArray[] parts = new NDArray[given.length];
        for (int i = 0; i < given.length; i++) {
            parts[i] = given[i] == null ? null : manager.create(given[i].getShape());
        }
        direct(decoder, given, false, 0, weights, parts).close();
        for (int i = 0; i < given.length; i++) {
            if (given[i] != null) {
                assertEquals(parts[i], given[i].getGradient(), AttentionInputs.nameOf(i));
                assertTrue(norm(parts[i].toFloatArray()) > 0);
            }
        }
    }

    @Test
    void anOutputGradientOfAnyStridesIsTaken() {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        NDArray x = leaf(1, 2, 3);
        NDArray factors = random(2, 3, 2);
        try (GradientCollector collector = collector()) {
            collector.backward(linear.forward(x).get(0).flip(1).transpose().mul(factors).sum());
        }
        assertDifferences(() -> linear.forward(x).get(0).flip(1).transpose().mul(factors).sum(), x);
    }

    @Test
    void blocksUnderARunningGarbageCollector() throws Exception {
        MultiHeadAttention attention = attention();
        NDArray x = leaf(1, 2, 3, 8);
        RunningCollector.during(() -> {
            NDArray expected = null;
            for (int i = 0; i < 100; i++) {
                try (GradientCollector collector = collector();
                        NDScope scope = manager.scope()) {
                    collector.backward(attention.forward(x, x, x).get(0).square().sum());
                    NDArray gradient = x.getGradient().duplicate();
                    expected = expected == null ? scope.keep(gradient) : expected;
                    assertEquals(expected, gradient);
                    collector.zeroGradients();
                }
            }
        });
    }

    @Test
    void outputsBesideTheOutputAreOnlyRead() {
        MultiHeadAttention attention = attention();
        NDArray queries = leaf(1, 2, 3, 8);
        Taps taps = new Taps();
        try (GradientCollector collector = collector()) {
            NDArray output = attention.forward(queries, queries, queries).get(0);
            NDArray weights = attention.attention.attentionWeights;
            assertEquals(new Shape(4, 3, 3), weights.getShape());
            weights.toFloatArray();
            UnsupportedOperationException refused =
                    assertThrows(UnsupportedOperationException.class, () -> weights.mul(2));
            assertEquals("attention weights have no gradient here: expected stopGradient() of the array",
                    refused.getMessage());
            assertThrows(UnsupportedOperationException.class, () -> collector.backward(weights));
            collector.backward(output.mul(weights.stopGradient().sum()));
        }
        TransformerEncoder encoder = encoder();
        taps.add("layers.0.self_attention", Wanted.WEIGHTS, Wanted.LOG_SUM_EXP);
        NDArray ids = manager.create(new int[] {1, 2, 3}, new Shape(1, 3));
        try (GradientCollector collector = collector()) {
            NDArray output = encoder.forward(new ParameterStore(), new NDList(ids), taps, true).get(0);
            NDArray logSumExp = taps.getLogSumExps().get("layers.0.self_attention");
            assertThrows(UnsupportedOperationException.class, () -> logSumExp.exp());
            collector.backward(output.square().sum());
        }
        float[] gradient = gradientOf(encoder, "layers.1.self_attention.W_v.weight");
        assertTrue(norm(gradient) > 0);
        encoder.getParameters().values().forEach(each -> each.getArray().getGradient().muli(0));
        try (GradientCollector collector = collector()) {
            collector.backward(encoder.forward(ids).get(0).square().sum());
        }
        assertArrayEquals(gradient, gradientOf(encoder, "layers.1.self_attention.W_v.weight"));
    }

    @Test
    void whatCannotBeFollowedIsRefused() {
        MultiHeadAttention attention = attention();
        NDArray x = leaf(1, 2, 3, 8);
        AttentionInputs inputs = new AttentionInputs().setQueries(x).setKeys(x).setValues(x);
        AttentionOutputs outputs = attention.createOutputs(inputs);
        try (GradientCollector collector = collector()) {
            assertThrows(UnsupportedOperationException.class, () -> attention.forward(inputs, outputs, null));
            NDArray lens = leaf(3, 2);
            UnsupportedOperationException refused =
                    assertThrows(UnsupportedOperationException.class, () -> attention.forward(x, x, x, lens));
            assertTrue(refused.getMessage().startsWith("validLens of MultiHeadAttention has no gradient"), refused.getMessage());
            assertThrows(UnsupportedOperationException.class,
                    () -> DotProductAttention.scaledDotProductAttention(inputs, outputs, null));
            KvCache cache = KvCache.builder().setNumKvHeads(2).setHeadSize(4).setCapacity(128).build(manager);
            inputs.setCache(cache);
            assertThrows(UnsupportedOperationException.class, () -> attention.forward(inputs));
            assertThrows(UnsupportedOperationException.class, () -> attention.fillCache(inputs, null));
            attention.cast(DataType.FLOAT16);
            NDArray half = x.stopGradient().toType(DataType.FLOAT16, false);
            assertThrows(UnsupportedOperationException.class, () -> attention.forward(half, half, half));
            collector.zeroGradients();
        }
        NDArray half = x.toType(DataType.FLOAT16, false);
        assertEquals(x.getShape(), attention.forward(half, half, half).get(0).getShape());
    }

    @Test
    void changesOfParametersBeforeBackwardAreRefused() {
        MultiHeadAttention attention = attention();
        NDArray x = leaf(1, 2, 3, 8);
        try (GradientCollector collector = collector()) {
            NDArray output = attention.forward(x, x, x).get(0);
            NDArray weight = attention.getParameters().get("W_q.weight").getArray();
            assertThrows(UnsupportedOperationException.class, () -> weight.muli(2));
            attention.getParameters().get("W_q.weight").setArray(random(3, 8, 8));
            IllegalStateException refused =
                    assertThrows(IllegalStateException.class, () -> collector.backward(output));
            assertEquals("a parameter of MultiHeadAttention has been written since: expected the same elements until "
                    + "backward", refused.getMessage());
            assertEquals(0, norm(x.getGradient().toFloatArray()));
            NDArray again = attention.forward(x, x, x).get(0);
            attention.clear();
            assertThrows(IllegalStateException.class, () -> collector.backward(again));
        }
    }

    @Test
    void parametersAreLeavesOfArrayOperationsToo() {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        NDArray x = random(1, 2, 3);
        Parameter weight = linear.getParameters().get("weight");
        try (GradientCollector collector = collector()) {
            NDArray decay = weight.getArray().square().sum();
            collector.backward(linear.forward(x).get(0).sum().add(decay));
        }
        assertDifferencesOf(() -> linear.forward(x).get(0).sum().add(weight.getArray().square().sum()), linear);
        NDArray gradient = weight.getArray().getGradient();
        gradient.muli(2);
        assertEquals(gradient, weight.getArray().getGradient());
    }
}
