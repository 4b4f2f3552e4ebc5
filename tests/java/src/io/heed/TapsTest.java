// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.TransformerScene.SIZE;
import static io.heed.TransformerScene.attention;
import static io.heed.TransformerScene.decoderBlock;
import static io.heed.TransformerScene.encoderBlock;
import static io.heed.TransformerScene.forward;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The attention weights and log-sum-exps of attentions inside a block. */
class TapsTest {
    private static final String FIRST = "layers.0.self_attention";
    private static final String SECOND = "layers.1.self_attention";

    private final NDManager manager = TestDevice.newManager();
    private final ParameterStore store = new ParameterStore();
    private final NDArray x = manager.randomNormal(new Shape(2, 3, SIZE));
    private final NDArray lens = manager.create(new int[] {3, 2});
    private final TransformerEncoder encoder =
            TransformerEncoder.builder().setLayer(encoderBlock()).setNumLayers(2).build();

    @AfterEach
    void close() {
        encoder.close();
        manager.close();
    }

    private void initialize() {
        encoder.initialize(manager, DataType.FLOAT32, x.getShape());
    }

    private static NativeBlock child(Block block, String name) {
        return (NativeBlock) block.getChildren().get(name);
    }

    /** What an attention computes by itself for rows. */
    private AttentionOutputs ofAttention(NativeBlock attention, NDArray rows) {
        AttentionInputs inputs = new AttentionInputs().setQueries(rows).setValidLens(lens);
        AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.WEIGHTS, Wanted.LOG_SUM_EXP);
        attention.forward(inputs, outputs, null);
        return outputs;
    }

    private static void same(NDArray expected, NDArray found) {
        assertEquals(expected.getShape(), found.getShape());
        assertArrayEquals(expected.toFloatArray(), found.toFloatArray());
    }

    /** The rows that layers.1 reads are the output of layers.0, so its attention by itself gives what the tap gives. */
    @Test
    void giveWhatTheAttentionByItselfGives() {
        initialize();
        NDArray untapped = forward(encoder, x, lens);
        Taps taps = new Taps(SECOND).add(FIRST, Wanted.LOG_SUM_EXP, Wanted.WEIGHTS);
        assertTrue(taps.getWeights().isEmpty());
        NDList result = encoder.forward(store, new NDList(x, lens), taps, false);
        same(untapped, result.singletonOrThrow());
        assertEquals(List.of(SECOND, FIRST), taps.getWeights().keys());
        assertEquals(List.of(FIRST), taps.getLogSumExps().keys());
        assertEquals(List.of(SECOND, FIRST), List.copyOf(taps.getChildren()));

        NativeBlock layer = child(encoder, "layers.0");
        AttentionOutputs first = ofAttention(child(layer, "self_attention"), x);
        same(first.getWeights(), taps.getWeights().get(FIRST));
        same(first.getLogSumExp(), taps.getLogSumExps().get(FIRST));
        NDArray rows = forward(layer, x, lens);
        AttentionOutputs second = ofAttention(child(child(encoder, "layers.1"), "self_attention"), rows);
        same(second.getWeights(), taps.getWeights().get(SECOND));
        assertSame(manager, taps.getWeights().get(FIRST).getManager());

        // A layer of the stack takes the names of its own children.
        Taps ofLayer = new Taps("self_attention");
        layer.forward(store, new NDList(x, lens), ofLayer, false);
        same(first.getWeights(), ofLayer.getWeights().get("self_attention"));

        // The next call makes new arrays; the first ones stay open.
        NDArray before = taps.getWeights().get(FIRST);
        encoder.forward(store, new NDList(x), taps, false);
        assertNotSame(before, taps.getWeights().get(FIRST));
        same(first.getWeights(), before);
        taps.close();
        assertTrue(taps.getWeights().get(FIRST).isReleased());
        assertFalse(before.isReleased());
    }

    @Test
    void ofExistingArraysAreWrittenByEachCall() {
        initialize();
        AttentionInputs inputs = new AttentionInputs().setQueries(x).setValidLens(lens);
        Taps taps = new Taps(FIRST, SECOND);
        encoder.createTaps(inputs, taps);
        AttentionOutputs outputs = encoder.createOutputs(inputs);
        assertNull(outputs.getTaps());
        assertSame(taps, outputs.setTaps(taps).getTaps());
        NDArray weights = taps.getWeights().get(SECOND);
        try (Workspace workspace = manager.newWorkspace(encoder.workspaceSize(inputs, outputs))) {
            encoder.forward(inputs, outputs, workspace);
            float[] before = weights.toFloatArray();
            inputs.setQueries(manager.randomNormal(x.getShape()));
            encoder.forward(inputs, outputs, workspace);
            assertSame(weights, taps.getWeights().get(SECOND));
            Taps made = new Taps(SECOND);
            encoder.forward(store, new NDList(inputs.getQueries(), lens), made, false);
            same(made.getWeights().get(SECOND), weights);
            assertFalse(Arrays.equals(before, weights.toFloatArray()));
        }
        assertTrue(encoder.explain(inputs, outputs).contains("self_attention"));
        // The next calls have none.
        outputs.setTaps(null);
        encoder.forward(inputs, outputs, null);
        same(forward(encoder, inputs.getQueries(), lens), outputs.getOutput());
    }

    @Test
    void ofADecoderHaveBothAttentions() {
        try (TransformerDecoderBlock decoder =
                decoderBlock().optCrossAttention(attention()).build()) {
            NDArray memory = manager.randomNormal(new Shape(2, 5, SIZE));
            decoder.initialize(manager, DataType.FLOAT32, x.getShape(), memory.getShape());
            Taps taps = new Taps("self_attention", "cross_attention");
            decoder.forward(store, new NDList(x, memory), taps, false);
            assertEquals(new Shape(2, 2, 3, 3), taps.getWeights().get("self_attention").getShape());
            NDArray cross = taps.getWeights().get("cross_attention");
            assertEquals(new Shape(2, 2, 3, 5), cross.getShape());
            float[] weights = cross.toFloatArray();
            for (int row = 0; row < weights.length; row += 5) {
                float sum = 0;
                for (int key = 0; key < 5; key++) {
                    sum += weights[row + key];
                }
                assertEquals(1, sum, 1e-5f);
            }
        }
    }

    /** Weights of a step over a cache are the last rows of those of the whole. */
    @Test
    @Tag("cpu")
    void ofAModelWithACache() {
        try (Model model = Model.newInstance("llama")) {
            model.load(TestFiles.data("models/llama"));
            ModelBlock block = model.getBlock();
            NDArray ids = manager.create(new int[] {5, 9, 2, 7}, new Shape(1, 4));
            Taps whole = new Taps(SECOND);
            block.forward(store, new NDList(ids), whole, false);
            KvCache cache = KvCache.builder().setBlock(block).setCapacity(8).build(manager);
            AttentionInputs inputs = new AttentionInputs().setQueries(ids.get(new NDIndex(":, 0:3"))).setCache(cache);
            forward(block, inputs);
            inputs.setQueries(ids.get(new NDIndex(":, 3:4")));
            Taps step = new Taps(SECOND);
            block.createTaps(inputs, step);
            block.forward(inputs, block.createOutputs(inputs).setTaps(step), null);
            NDArray found = step.getWeights().get(SECOND);
            NDArray last = whole.getWeights().get(SECOND).get(new NDIndex(":, :, 3:4, :"));
            assertEquals(last.getShape(), found.getShape());
            assertArrayEquals(last.toFloatArray(), found.toFloatArray(), 1e-6f);
        }
    }

    private static void says(String sentence, Class<? extends Exception> type, Executable call) {
        assertEquals(sentence, assertThrows(type, call).getMessage());
    }

    @Test
    void areRefusedByName() {
        initialize();
        NDList list = new NDList(x, lens);
        Taps unknown = new Taps(FIRST, "layers.2.self_attention");
        says(
                "child ends in \"layers.2.self_attention\", which is no child of a TransformerEncoder; it has"
                        + " \"layers.0\", \"layers.1\"",
                HeedException.class,
                () -> encoder.forward(store, list, unknown, false));
        assertTrue(unknown.getWeights().isEmpty());
        says(
                "child is \"layers.0.norm_1\", which is no attention: expected a child with weights",
                IllegalArgumentException.class,
                () -> encoder.forward(store, list, new Taps("layers.0.norm_1"), false));
        says(
                "wanted has OUTPUT for the child \"layers.0.self_attention\", expected its weights, its log-sum-exp or both",
                IllegalArgumentException.class,
                () -> new Taps().add(FIRST, Wanted.WEIGHTS, Wanted.OUTPUT));
        AttentionInputs inputs = new AttentionInputs().setQueries(x);
        AttentionOutputs outputs = encoder.createOutputs(inputs).setTaps(new Taps(FIRST));
        says(
                "the taps have no array for \"layers.0.self_attention\", expected those of createTaps",
                IllegalArgumentException.class,
                () -> encoder.forward(inputs, outputs, null));

        Taps taps = new Taps(FIRST).add(SECOND, Wanted.LOG_SUM_EXP);
        encoder.createTaps(inputs, taps);
        outputs.setTaps(taps);
        encoder.forward(inputs, outputs, null);
        inputs.setQueries(x.get(new NDIndex(":, 0:2")));
        AttentionOutputs smaller = encoder.createOutputs(inputs).setTaps(taps);
        says(
                "taps[0].weights has shape (2, 2, 3, 3), expected (2, 2, 2, 2)",
                IllegalArgumentException.class,
                () -> encoder.forward(inputs, smaller, null));
        Taps second = new Taps().add(SECOND, Wanted.LOG_SUM_EXP);
        encoder.createTaps(new AttentionInputs().setQueries(x), second);
        smaller.setTaps(second);
        says(
                "taps[0].logSumExp has shape (2, 2, 3), expected (2, 2, 2)",
                IllegalArgumentException.class,
                () -> encoder.forward(inputs, smaller, null));
        taps.close();
        says("the array weights is closed", IllegalStateException.class, () -> encoder.forward(
                new AttentionInputs().setQueries(x), outputs, null));
    }
}
