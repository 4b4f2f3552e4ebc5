// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.TransformerScene.SIZE;
import static io.heed.TransformerScene.attention;
import static io.heed.TransformerScene.decoderBlock;
import static io.heed.TransformerScene.encoderBlock;
import static io.heed.TransformerScene.feedForward;
import static io.heed.TransformerScene.forward;
import static io.heed.TransformerScene.near;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Stacks whose layers have options of their own, and stacks that read images and features. */
class LayersOfTheirOwnTest {
    private final NDManager manager = TestDevice.newManager();

    @AfterEach
    void close() {
        manager.close();
    }

    /** The output of the children "layers.0", "layers.1", ..., one after another. */
    private static NDArray ofLayers(Block stack, int numLayers, NDArray x) {
        NDArray rows = x;
        for (int i = 0; i < numLayers; i++) {
            rows = forward(stack.getChildren().get("layers." + i), rows);
        }
        return rows;
    }

    @Test
    void ofAnEncoder() {
        List<TransformerEncoderBlock.Builder> layers = List.of(
                encoderBlock(),
                encoderBlock().setAttention(attention().optWindow(Window.TOP_LEFT, 1, 0)),
                encoderBlock().setFeedForward(feedForward().setHiddenSize(20).optGated(true)));
        try (TransformerEncoder encoder =
                TransformerEncoder.builder().setLayers(layers).build()) {
            NDArray x = manager.randomNormal(new Shape(2, 5, SIZE));
            encoder.initialize(manager, DataType.FLOAT32, x.getShape());
            assertEquals(List.of("layers.0", "layers.1", "layers.2"), encoder.getChildren().keys());
            near(ofLayers(encoder, 3, x), forward(encoder, x));
            Block last = encoder.getChildren().get("layers.2");
            assertTrue(last.getParameters().keys().contains("feed_forward.W_gate.weight"));
            assertEquals(new Shape(20, SIZE), last.getParameters().get("feed_forward.W_1.weight").getShape());
            assertEquals(
                    new Shape(TransformerScene.HIDDEN_SIZE, SIZE),
                    encoder.getParameters().get("layers.1.feed_forward.W_1.weight").getShape());
            assertTrue(encoder.toString().startsWith("TransformerEncoder(numLayers=3, finalNorm=false, layers=["));
            // The second layer sees one row before each, and no later one.
            Taps taps = new Taps("layers.1.self_attention");
            encoder.forward(new ParameterStore(), new NDList(x), taps, false);
            float[] weights = taps.getWeights().get("layers.1.self_attention").toFloatArray();
            for (int i = 0; i < weights.length; i++) {
                int query = i / 5 % 5;
                int key = i % 5;
                assertEquals(key == query || key == query - 1, weights[i] != 0, "query " + query + ", key " + key);
            }
        }
    }

    @Test
    void ofADecoder() {
        List<TransformerDecoderBlock.Builder> layers = List.of(decoderBlock(), decoderBlock().optNormFirst(true));
        try (TransformerDecoder decoder = TransformerDecoder.builder()
                .setLayers(layers)
                .setNumLayers(2)
                .optFinalNorm(true)
                .build()) {
            NDArray x = manager.randomNormal(new Shape(1, 4, SIZE));
            decoder.initialize(manager, DataType.FLOAT32, x.getShape());
            NDArray rows = forward(decoder.getChildren().get("norm"), ofLayers(decoder, 2, x));
            near(rows, forward(decoder, x));
        }
    }

    private static void says(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    @Test
    void areRefusedByTheirNumbers() {
        TransformerEncoder.Builder builder = TransformerEncoder.builder();
        builder.setLayers(List.of(encoderBlock(), encoderBlock()));
        says(
                "numLayers is 3, but layers has options for 2: expected the same number, or none",
                () -> builder.setNumLayers(3).build());
        builder.setNumLayers(0).setLayer(encoderBlock());
        says("layers is set, but so is layer: expected null for one of them", builder::build);
        says("numLayers is 0, expected 1 to 4096", () -> TransformerEncoder.builder()
                .setLayers(List.of())
                .build());
        says(
                "layers[1].numHiddens is 6, expected 8, as in the first layer",
                () -> TransformerEncoder.builder()
                        .setLayers(List.of(
                                encoderBlock(), encoderBlock().setAttention(attention().setNumHiddens(6))))
                        .build());
        says(
                "layers[1].numHeads is 0, expected at least 1",
                () -> TransformerEncoder.builder()
                        .setLayers(List.of(encoderBlock(), encoderBlock().setAttention(attention().setNumHeads(0))))
                        .build());
        assertThrows(
                NullPointerException.class,
                () -> builder.setLayers(Arrays.asList(encoderBlock(), null)));
    }

    private static void set(Block block, String name, NDArray value) {
        block.getParameters().get(name).setArray(value);
    }

    /** Each patch is one pixel wide, so that the rows are those of the pixels. */
    @Test
    void patchEmbeddingGivesARowForEachPatch() {
        PatchEmbedding.Builder options = PatchEmbedding.builder()
                .setPatchHeight(2)
                .optPatchWidth(1)
                .setNumChannels(1)
                .setNumHiddens(2)
                .optClassToken(true);
        try (PatchEmbedding patches = options.build()) {
            assertEquals(
                    "PatchEmbedding(patchHeight=2, patchWidth=1, numChannels=1, numHiddens=2, classToken=true, bias=true, "
                            + "imageHeight=0, imageWidth=0)",
                    patches.toString());
            assertEquals(List.of("weight", "bias", "class_token"), patches.getParameters().keys());
            set(patches, "weight", manager.create(new float[][] {{1, 10}, {2, 0}}));
            set(patches, "bias", manager.create(new float[] {.5f, 0}));
            set(patches, "class_token", manager.create(new float[] {7, 8}));
            NDArray images = manager.create(new float[] {1, 2, 3, 4}, new Shape(1, 1, 2, 2));
            NDArray rows = forward(patches, images);
            assertEquals(new Shape(1, 3, 2), rows.getShape());
            // Patches are the columns (1, 3) and (2, 4).
            assertArrayEquals(new float[] {7, 8, 31.5f, 2, 42.5f, 4}, rows.toFloatArray());
        }
        says("imageHeight is 3, expected a multiple of patchHeight, 2, or 0", () -> options.optImageHeight(3).build());
        try (PatchEmbedding ofOneSize = options.optImageHeight(4).optImageWidth(1).build()) {
            assertTrue(ofOneSize.toString().endsWith("imageHeight=4, imageWidth=1)"));
            ofOneSize.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 4, 1));
            says(
                    "queries has shape (1, 1, 2, 2), expected (B, 1, 4, 1): the block reads images of one size",
                    () -> forward(ofOneSize, manager.zeros(new Shape(1, 1, 2, 2))));
        }
        says("numHiddens is 0, expected at least 1", () -> options.setNumHiddens(0).build());
        says("patchHeight is 0, expected at least 1", () -> PatchEmbedding.builder().build());
    }

    @Test
    void audioEmbeddingHalvesTheFrames() {
        try (AudioEmbedding audio =
                AudioEmbedding.builder().setNumMels(2).setNumHiddens(3).build()) {
            assertEquals("AudioEmbedding(numMels=2, numHiddens=3)", audio.toString());
            NDArray features = manager.randomNormal(new Shape(2, 2, 5));
            audio.initialize(manager, DataType.FLOAT32, features.getShape());
            assertEquals(
                    List.of("conv_1.weight", "conv_1.bias", "conv_2.weight", "conv_2.bias"),
                    audio.getParameters().keys());
            set(audio, "conv_2.weight", manager.zeros(new Shape(3, 9)));
            set(audio, "conv_2.bias", manager.create(new float[] {1, -1, -3}));
            NDArray rows = forward(audio, features);
            assertEquals(new Shape(2, 3, 3), rows.getShape());
            float[] gelu = Activation.gelu(manager.create(new float[] {1, -1, -3})).toFloatArray();
            assertArrayEquals(gelu, rows.get(0, 0).toFloatArray());
        }
        says(
                "numMels is 0, expected 1 to 3074457345618258602",
                () -> AudioEmbedding.builder().setNumHiddens(1).build());
    }

    @Test
    void encodersReadImagesAndFeatures() {
        PatchEmbedding.Builder patches =
                PatchEmbedding.builder().setPatchHeight(2).setNumChannels(3).optClassToken(true);
        AudioEmbedding.Builder audio = AudioEmbedding.builder().setNumMels(4);
        NDArray images = manager.randomNormal(new Shape(2, 3, 4, 4));
        NDArray features = manager.randomNormal(new Shape(2, 4, 6));
        TransformerEncoder.Builder options =
                TransformerEncoder.builder().setLayer(encoderBlock()).setNumLayers(2);
        try (TransformerEncoder ofImages = options.copy().optPatches(patches).build();
                TransformerEncoder ofAudio = options.copy().optAudio(audio).build()) {
            for (TransformerEncoder encoder : new TransformerEncoder[] {ofImages, ofAudio}) {
                NDArray input = encoder == ofImages ? images : features;
                encoder.initialize(manager, DataType.FLOAT32, input.getShape());
                Block first = encoder.getChildren().get(encoder == ofImages ? "patches" : "audio");
                assertSame(first, encoder.getChildren().valueAt(0));
                NDArray rows = ofLayers(encoder, 2, forward(first, input));
                assertEquals(new Shape(2, encoder == ofImages ? 5 : 3, SIZE), rows.getShape());
                near(rows, forward(encoder, input));
            }
            assertTrue(ofImages.toString().contains(", patches=PatchEmbedding(patchHeight=2"));
            assertTrue(ofAudio.toString().contains(", audio=AudioEmbedding(numMels=4"));
        }
        says(
                "audio is set, but so is patches: expected null for one of them",
                () -> options.copy().optPatches(patches).optAudio(audio).build());
    }
}
