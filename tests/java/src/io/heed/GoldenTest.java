// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.function.Function;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Results compared with PyTorch's, Keras' and the formulas in float64, each within the bound in its file. */
@Tag("cpu")
class GoldenTest {
    @Test
    void d2lSizesWithLengths() {
        try (NDManager manager = NDManager.newBaseManager();
                MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0.5f, false)) {
            Path file = TestFiles.golden("d2l");
            attention.load(file, "attention");
            AttentionInputs inputs = inputs(manager, file);
            NDList list = new NDList(
                    inputs.getQueries(), inputs.getKeys(), inputs.getValues(), inputs.getValidLens());
            ParameterStore ps = new ParameterStore(manager, false);

            NDArray output = attention.forward(ps, list, false).singletonOrThrow();
            assertEquals(new Shape(2, 4, 100), output.getShape());
            assertWithin(manager, file, "output", "bound", output);
            assertEquals(new Shape(10, 4, 6), attention.attention.attentionWeights.getShape());
            assertWithin(manager, file, "weights", "weights_bound", attention.attention.attentionWeights);

            attention.setKeepAttentionWeights(false);
            NDArray again = attention.forward(ps, list, false).singletonOrThrow();
            assertArrayEquals(output.toFloatArray(), again.toFloatArray());
            assertNull(attention.attention.attentionWeights);
        }
    }

    /** Each of heed's options, set by the builders. */
    @Test
    void multiHeadOptions() {
        multiHead("pytorch_bias", b -> b.setNumHiddens(100).setNumHeads(5).optBias(true));
        multiHead("partial_biases", b -> b.setNumHiddens(24).setNumHeads(3).optBiases(Bias.Q, Bias.V, Bias.O));
        multiHead("grouped", b -> b.setNumHiddens(48).setNumHeads(6).optNumKvHeads(2).optBias(true));
        multiHead("causal_top_left", b -> b.setNumHiddens(40).setNumHeads(5).optCausal(Causal.TOP_LEFT));
        multiHead("causal_bottom_right", b -> b.setNumHiddens(40).setNumHeads(5).optCausal(Causal.BOTTOM_RIGHT));
        multiHead("window", b -> b.setNumHiddens(40).setNumHeads(5).optWindow(Window.TOP_LEFT, 2, 1));
        multiHead("mask", b -> b.setNumHiddens(40).setNumHeads(5));
        multiHead("mask_per_head", b -> b.setNumHiddens(40).setNumHeads(5));
        multiHead("float_mask_per_head", b -> b.setNumHiddens(40).setNumHeads(5).optBias(true));
        multiHead("padding_per_query", b -> b.setNumHiddens(48).setNumHeads(3));
        multiHead("kdim_vdim", b -> b.setNumHiddens(32).setNumHeads(4).optBias(true));
        multiHead(
                "formula_no_output",
                b -> b.setNumHeads(2)
                        .optNumKvHeads(2)
                        .optHeadSize(3)
                        .optValueHeadSize(5)
                        .optOutputProjection(false)
                        .optBiases(Bias.Q, Bias.K, Bias.V));
        multiHead(
                "formula_multi_head",
                b -> b.setNumHeads(4)
                        .optNumKvHeads(2)
                        .optHeadSize(3)
                        .optValueHeadSize(2)
                        .optOutputSize(6)
                        .optBias(true)
                        .optScale(0.4f)
                        .optSoftCap(3)
                        .optCausal(Causal.BOTTOM_RIGHT)
                        .optEmptyRows(EmptyRows.MEAN));
        multiHead(
                "additive_multi_head_grouped",
                b -> b.setNumHeads(4)
                        .optNumKvHeads(2)
                        .optHeadSize(3)
                        .optValueHeadSize(2)
                        .optOutputSize(6)
                        .optBias(true)
                        .optScoring(Scoring.ADDITIVE)
                        .optScale(1.5f));
    }

    @Test
    void dotProductOptions() {
        dotProduct("formula_rank3", b -> b);
        dotProduct("formula_empty", b -> b);
        dotProduct("formula_grouped", b -> b);
        dotProduct("formula_scale", b -> b.optScale(-0.75f));
        dotProduct("formula_soft_cap", b -> b.optSoftCap(1.5f));
        dotProduct("formula_causal_top_left", b -> b.optCausal(Causal.TOP_LEFT));
        dotProduct("formula_causal_mean", b -> b.optCausal(Causal.BOTTOM_RIGHT).optEmptyRows(EmptyRows.MEAN));
        dotProduct("formula_window", b -> b.optWindow(Window.BOTTOM_RIGHT, 2, 1));
        dotProduct(
                "formula_window_causal", b -> b.optCausal(Causal.BOTTOM_RIGHT).optWindow(Window.TOP_LEFT, 3, -1));
        dotProduct("teaching_d2l_java", b -> b.optScale(0.70710678f).optEmptyRows(EmptyRows.MEAN));
        dotProduct(
                "formula_everything",
                b -> b.optScale(0.7f)
                        .optSoftCap(2.5f)
                        .optCausal(Causal.BOTTOM_RIGHT)
                        .optWindow(Window.TOP_LEFT, 3, 2)
                        .optEmptyRows(EmptyRows.MEAN));
    }

    @Test
    void additiveOptions() {
        additive("additive_lens", b -> b.setNumHiddens(7));
        additive("additive_lens_per_query", b -> b.setNumHiddens(7));
        additive("additive_mean", b -> b.setNumHiddens(1).optEmptyRows(EmptyRows.MEAN));
    }

    /** Parameters with the names, shapes and dtypes of other frameworks. */
    @Test
    void weightsOfFrameworks() {
        weights("pytorch", null, b -> b.optBias(true));
        weights("pytorch_bf16", null, b -> b.optBias(true));
        weights("pytorch_encoder", "encoder.layers.1.self_attn", b -> b.optBias(true));
        weights("bert", "bert.encoder.layer.1.attention", b -> b.optBias(true));
        weights(
                "whisper",
                "model.decoder.layers.1.encoder_attn",
                b -> b.optBiases(Bias.Q, Bias.V, Bias.O));
        weights(
                "llama",
                "model.layers.1.self_attn",
                b -> b.setNumHeads(6).optNumKvHeads(2).optCausal(Causal.TOP_LEFT),
                "rotary");
        weights("djl", "01selfAttention", b -> b.optBias(true));
        weights("d2l_java", "01attention", b -> b);
        Path additive = TestFiles.golden("weights/d2l_java_additive");
        assertGolden(additive, AdditiveAttention.builder().setNumHiddens(5).build(), "01attention", false);
    }

    private static void multiHead(
            String file, Function<MultiHeadAttention.Builder, MultiHeadAttention.Builder> options) {
        MultiHeadAttention block = options.apply(MultiHeadAttention.builder()).build();
        assertGolden(TestFiles.golden(file), block, "attention", true);
    }

    private static void dotProduct(
            String file, Function<DotProductAttention.Builder, DotProductAttention.Builder> options) {
        assertGolden(TestFiles.golden(file), options.apply(DotProductAttention.builder()).build(), null, true);
    }

    private static void additive(String file, Function<AdditiveAttention.Builder, AdditiveAttention.Builder> options) {
        AdditiveAttention block = options.apply(AdditiveAttention.builder()).build();
        assertGolden(TestFiles.golden(file), block, "attention", true);
    }

    private static void weights(
            String file,
            String prefix,
            Function<MultiHeadAttention.Builder, MultiHeadAttention.Builder> options,
            String... accept) {
        MultiHeadAttention.Builder builder = MultiHeadAttention.builder().setNumHiddens(12).setNumHeads(3);
        assertGolden(TestFiles.golden("weights/" + file), options.apply(builder).build(), prefix, false, accept);
    }

    private static void assertGolden(
            Path file, NativeBlock block, String prefix, boolean withWeights, String... accept) {
        try (NDManager manager = NDManager.newBaseManager()) {
            if (!block.getParameters().isEmpty()) {
                block.load(file, prefix, accept);
            }
            AttentionInputs inputs = inputs(manager, file);
            AttentionOutputs outputs = withWeights
                    ? block.createOutputs(inputs, Wanted.OUTPUT, Wanted.WEIGHTS, Wanted.LOG_SUM_EXP)
                    : block.createOutputs(inputs);
            try (Workspace workspace = manager.newWorkspace(block.workspaceSize(inputs, outputs))) {
                block.forward(inputs, outputs, workspace);
            }
            assertWithin(manager, file, "output", "bound", outputs.getOutput());
            if (withWeights) {
                assertWithin(manager, file, "weights", "weights_bound", outputs.getWeights());
                assertWithin(manager, file, "log_sum_exp", "log_sum_exp_bound", outputs.getLogSumExp());
            }
        } finally {
            block.close();
        }
    }

    private static AttentionInputs inputs(NDManager manager, Path file) {
        return new AttentionInputs()
                .setQueries(manager.load(file, "queries"))
                .setKeys(ifThere(manager, file, "keys"))
                .setValues(ifThere(manager, file, "values"))
                .setValidLens(ifThere(manager, file, "valid_lens"))
                .setMask(ifThere(manager, file, "mask"))
                .setBias(ifThere(manager, file, "bias"));
    }

    private static NDArray ifThere(NDManager manager, Path file, String name) {
        try {
            return manager.load(file, name);
        } catch (HeedException error) {
            assertEquals(Status.NOT_FOUND, error.getStatus());
            return null;
        }
    }

    private static void assertWithin(NDManager manager, Path file, String expected, String bound, NDArray actual) {
        float[] actuals = actual.toFloatArray();
        double[] expecteds = manager.load(file, expected).toDoubleArray();
        double[] bounds = manager.load(file, bound).toDoubleArray();
        assertEquals(expecteds.length, actuals.length);
        for (int i = 0; i < actuals.length; i++) {
            double difference = Math.abs(actuals[i] - expecteds[i]);
            boolean within = difference <= bounds[i] || actuals[i] == expecteds[i];
            assertTrue(within, file + " " + expected + " " + i + ": " + difference + " > " + bounds[i]);
        }
    }
}
