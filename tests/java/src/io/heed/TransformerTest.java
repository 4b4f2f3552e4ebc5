// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.TransformerScene.SIZE;
import static io.heed.TransformerScene.attention;
import static io.heed.TransformerScene.decoderBlock;
import static io.heed.TransformerScene.encoderBlock;
import static io.heed.TransformerScene.feedForward;
import static io.heed.TransformerScene.forward;
import static io.heed.TransformerScene.near;
import static io.heed.TransformerScene.sum;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.file.Path;
import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Layers of encoders and decoders, and stacks of them. */
class TransformerTest {
    private final NDManager manager = TestDevice.newManager();
    private final NDArray x = manager.randomNormal(new Shape(2, 5, SIZE));
    private final NDArray memory = manager.randomNormal(new Shape(2, 4, 6));

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void anEncoderBlockIsWhatItsChildrenCompute() {
        for (boolean normFirst : new boolean[] {false, true}) {
            TransformerEncoderBlock block = encoderBlock().optNormFirst(normFirst).build();
            block.initialize(manager, DataType.FLOAT32, x.getShape());
            BlockList children = block.getChildren();
            NDArray h;
            NDArray expected;
            if (normFirst) {
                NDArray normed = forward(children.get("norm_1"), x);
                h = sum(x, forward(children.get("self_attention"), normed, normed, normed));
                expected = sum(h, forward(children.get("feed_forward"), forward(children.get("norm_2"), h)));
            } else {
                h = forward(children.get("norm_1"), sum(x, forward(children.get("self_attention"), x, x, x)));
                expected = forward(children.get("norm_2"), sum(h, forward(children.get("feed_forward"), h)));
            }
            near(expected, forward(block, x));
        }
    }

    @Test
    void aDecoderBlockIsWhatItsChildrenCompute() {
        TransformerDecoderBlock block = decoderBlock().optCrossAttention(attention()).build();
        block.initialize(manager, DataType.FLOAT32, x.getShape(), memory.getShape());
        BlockList children = block.getChildren();
        NDArray lens = manager.create(new int[] {3, 1});
        NDArray h = forward(children.get("norm_1"), sum(x, forward(children.get("self_attention"), x, x, x)));
        NDArray g = forward(
                children.get("norm_2"), sum(h, forward(children.get("cross_attention"), h, memory, memory, lens)));
        NDArray expected = forward(children.get("norm_3"), sum(g, forward(children.get("feed_forward"), g)));
        near(expected, forward(block, x, memory, lens));
        assertFalse(Arrays.equals(expected.toFloatArray(), forward(block, x, memory).toFloatArray()));
        assertArrayEquals(
                forward(block, x, memory).toFloatArray(), forward(block, x, memory, null).toFloatArray());
        assertArrayEquals(
                new Shape[] {x.getShape()},
                block.getOutputShapes(new Shape[] {x.getShape(), memory.getShape(), new Shape(2)}));
    }

    @Test
    void anEncoderIsItsLayersOneAfterAnother() {
        TransformerEncoder encoder = TransformerEncoder.builder()
                .setLayer(encoderBlock().optNorm(LayerNorm.builder().optKind(NormKind.RMS)))
                .setNumLayers(3)
                .optFinalNorm(true)
                .build();
        encoder.initialize(manager, DataType.FLOAT32, x.getShape());
        assertEquals(
                Arrays.asList("layers.0", "layers.1", "layers.2", "norm"), encoder.getChildren().keys());
        NDArray lens = manager.create(new float[] {5, 2});
        NDArray expected = x;
        for (int i = 0; i < 3; i++) {
            expected = forward(encoder.getChildren().get("layers." + i), expected, lens);
        }
        expected = forward(encoder.getChildren().get("norm"), expected);
        assertArrayEquals(expected.toFloatArray(), forward(encoder, x, lens).toFloatArray());
        assertArrayEquals(
                expected.toFloatArray(),
                forward(encoder, new AttentionInputs().setQueries(x).setValidLens(lens)).toFloatArray());
        assertEquals(x.getShape(), forward(encoder, x).getShape());
    }

    /** The mask of each attention of a decoder hides what the causal option or the valid lengths hide. */
    @Test
    void aDecoderHasInputsForBothAttentions() {
        TransformerDecoder causal = decoder(2, true);
        causal.initialize(manager, DataType.FLOAT32, x.getShape(), memory.getShape());
        TransformerDecoder open = TransformerDecoder.builder()
                .setLayer(TransformerDecoderBlock.builder()
                        .setSelfAttention(attention())
                        .optCrossAttention(attention())
                        .setFeedForward(feedForward()))
                .setNumLayers(2)
                .build();
        for (Pair<String, Parameter> parameter : causal.getParameters()) {
            open.getParameters().get(parameter.getKey()).setArray(parameter.getValue().getArray());
        }
        float[] expected = forward(causal, x, memory, manager.create(new int[] {3, 3})).toFloatArray();
        boolean[] lower = new boolean[25];
        float[] bias = new float[25];
        for (int i = 0; i < 25; i++) {
            lower[i] = i % 5 <= i / 5;
            bias[i] = lower[i] ? 0 : Float.NEGATIVE_INFINITY;
        }
        boolean[] firstThree = {true, true, true, false};
        AttentionInputs inputs = new AttentionInputs()
                .setQueries(x)
                .setKeys(memory)
                .setMask(manager.create(firstThree, new Shape(1, 4)))
                .setSelfMask(manager.create(lower, new Shape(5, 5)));
        assertArrayEquals(expected, forward(open, inputs).toFloatArray());
        inputs.setSelfMask(null).setSelfBias(manager.create(bias, new Shape(5, 5)));
        assertArrayEquals(expected, forward(open, inputs).toFloatArray());
        inputs.setSelfBias(null).setSelfValidLens(manager.create(new float[][] {{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}}));
        assertArrayEquals(expected, forward(open, inputs).toFloatArray());
        assertEquals(inputs.getSelfValidLens().getShape(), new Shape(2, 5));
        inputs.clear();
        assertEquals(null, inputs.getSelfValidLens());
        assertEquals(null, inputs.getSelfMask());
        assertEquals(null, inputs.getSelfBias());
    }

    @Test
    void aDecoderWithACacheGivesWhatTheWholeSequenceGives() {
        for (boolean cross : new boolean[] {false, true}) {
            TransformerDecoder decoder = decoder(3, cross);
            Shape[] shapes = cross ? new Shape[] {x.getShape(), memory.getShape()} : new Shape[] {x.getShape()};
            decoder.initialize(manager, DataType.FLOAT32, shapes);
            NDArray rows = x.get(new NDIndex("0:1"));
            NDArray encoded = cross ? memory.get(new NDIndex("0:1")) : null;
            AttentionInputs inputs = new AttentionInputs().setQueries(rows).setKeys(encoded);
            NDArray whole = forward(decoder, inputs);
            KvCache cache = TransformerScene.newCache(manager, 4);
            inputs.setCache(cache).setSequences(1).setCacheLayer(1);
            float[] steps = {};
            for (int row = 0; row < 5; row++) {
                inputs.setQueries(rows.get(new NDIndex(":, {}:{}", row, row + 1)));
                steps = CacheScene.joined(steps, forward(decoder, inputs).toFloatArray());
            }
            near(whole, manager.create(steps, whole.getShape()));
            assertEquals(5, cache.read(3, 1).head().size(1));
            inputs.setQueries(rows).setSequences(0);
            assertArrayEquals(steps, forward(decoder, inputs).toFloatArray());
        }
    }

    @Test
    void packedBatchesHaveTheBitsOfEachElement() {
        TransformerEncoder encoder =
                TransformerEncoder.builder().setLayer(encoderBlock()).setNumLayers(2).build();
        encoder.initialize(manager, DataType.FLOAT32, x.getShape());
        NDArray packed = x.reshape(10, SIZE);
        float[] found = forward(
                        encoder,
                        new AttentionInputs().setQueries(packed).setQueryOffsets(manager.create(new int[] {0, 5, 10})))
                .toFloatArray();
        assertArrayEquals(forward(encoder, x).toFloatArray(), found);
    }

    @Test
    void areSavedAndLoaded(@TempDir Path folder) throws Exception {
        TransformerDecoder saved = decoder(2, true);
        saved.initialize(manager, DataType.FLOAT32, x.getShape(), memory.getShape());
        float[] expected = forward(saved, x, memory).toFloatArray();
        saved.save(folder.resolve("decoder"));
        TransformerDecoder loaded = decoder(2, true);
        loaded.load(folder.resolve("decoder"));
        assertArrayEquals(expected, forward(loaded, x, memory).toFloatArray());

        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        saved.saveParameters(new DataOutputStream(bytes));
        TransformerDecoder read = decoder(2, true);
        read.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
        assertArrayEquals(expected, forward(read, x, memory).toFloatArray());
        assertArrayEquals(saved.getInputShapes(), read.getInputShapes());

        // A layer out of the file of the whole decoder.
        TransformerDecoderBlock layer = decoderBlock().optCrossAttention(attention()).build();
        layer.load(folder.resolve("decoder"), "layers.1");
        assertArrayEquals(
                forward(saved.getChildren().get("layers.1"), x, memory).toFloatArray(),
                forward(layer, x, memory).toFloatArray());
    }

    @Test
    void dropoutRepeatsWithItsSeed() {
        TransformerEncoder encoder =
                TransformerEncoder.builder().setLayer(encoderBlock().optDropout(.5f)).setNumLayers(2).build();
        encoder.initialize(manager, DataType.FLOAT32, x.getShape());
        ParameterStore ps = new ParameterStore();
        encoder.setSeed(3);
        float[] first = encoder.forward(ps, new NDList(x), true).head().toFloatArray();
        assertFalse(Arrays.equals(first, encoder.forward(ps, new NDList(x), true).head().toFloatArray()));
        encoder.setSeed(3);
        assertArrayEquals(first, encoder.forward(ps, new NDList(x), true).head().toFloatArray());
    }

    /** Changing a builder does not change the blocks and the builders that it was given to. */
    @Test
    void buildersAreCopied() {
        MultiHeadAttention.Builder attention = attention();
        FeedForward.Builder network = feedForward();
        TransformerEncoderBlock.Builder layer =
                TransformerEncoderBlock.builder().setAttention(attention).setFeedForward(network);
        TransformerEncoder.Builder encoder = TransformerEncoder.builder().setLayer(layer).setNumLayers(1);
        attention.optBias(false);
        network.optBias(false);
        layer.optNorm(LayerNorm.builder().optCenter(false)).optNormFirst(true);
        TransformerEncoder made = encoder.build();
        encoder.optFinalNorm(true);
        assertEquals(8 + 4 + 4, made.getParameters().size());
        assertEquals(
                "TransformerEncoder(numLayers=1, finalNorm=false, layer=TransformerEncoderBlock(attention="
                        + "MultiHeadAttention(numHiddens=8, numHeads=2, useBias=true, dropout=0.0), feedForward="
                        + "FeedForward(hiddenSize=12, activation=GELU, gated=false, bias=true, dropout=0.0), norm="
                        + "LayerNorm(kind=LAYER, epsilon=1.0E-5, center=true), normFirst=false, dropout=0.0))",
                made.toString());
        assertEquals(8 + 4 + 2, layer.build().getParameters().size());
    }

    @Test
    void options() {
        says("attention is null, expected an object", () -> TransformerEncoderBlock.builder()
                .setFeedForward(feedForward()).build());
        says("feedForward is null, expected an object", () -> TransformerEncoderBlock.builder()
                .setAttention(attention()).build());
        says("layer is null, expected an object", () -> TransformerEncoder.builder().setNumLayers(1).build());
        says("numLayers is 0, expected 1 to 4096", () -> TransformerEncoder.builder().setLayer(encoderBlock())
                .build());
        says("numLayers is 0, expected 1 to 4096", () -> TransformerDecoder.builder().setLayer(decoderBlock())
                .build());
        says("hiddenSize is 0, expected at least 1", () -> encoderBlock().setFeedForward(FeedForward.builder())
                .build());
        says("layer.numHeads is 0, expected at least 1", () -> TransformerEncoder.builder()
                .setLayer(encoderBlock().setAttention(MultiHeadAttention.builder().setNumHiddens(SIZE)))
                .setNumLayers(1).build());
        says("outputSize is 5, expected 8 or 0: it is added to rows of numHiddens", () -> encoderBlock()
                .setAttention(attention().optOutputSize(5)).build());
        says(
                "outputProjection is false, expected true: the output is added to rows of numHiddens",
                () -> encoderBlock()
                        .setAttention(attention().optBiases(Bias.Q).optOutputProjection(false)).build());
        says("numHiddens is 4, expected 8, as selfAttention has", () -> decoderBlock()
                .optCrossAttention(attention().setNumHiddens(4)).build());
        assertThrows(NullPointerException.class, () -> encoderBlock().setAttention(null));
        assertThrows(NullPointerException.class, () -> encoderBlock().setFeedForward(null));
        assertThrows(NullPointerException.class, () -> encoderBlock().optNorm(null));
        assertThrows(NullPointerException.class, () -> TransformerDecoder.builder().setLayer(null));
    }

    @Test
    void inputs() {
        TransformerEncoder encoder =
                TransformerEncoder.builder().setLayer(encoderBlock()).setNumLayers(1).build();
        encoder.initialize(manager, DataType.FLOAT32, x.getShape());
        TransformerDecoder plain = decoder(1, false);
        plain.initialize(manager, DataType.FLOAT32, x.getShape());
        TransformerDecoder crossing = decoder(1, true);
        crossing.initialize(manager, DataType.FLOAT32, x.getShape(), memory.getShape());
        NDArray mask = manager.ones(new Shape(5, 5), DataType.BOOLEAN);

        says("inputs has 3 arrays, expected 1 or 2: x and, optional, validLens", () -> forward(encoder, x, x, x));
        says("inputs has 0 arrays, expected 1 to 3: x and, optional, memory and memoryValidLens", () ->
                forward(plain, new NDArray[0]));
        says("queries has shape (2, 4, 6), expected (B, S, 8)", () -> forward(encoder, memory));
        says("keys is set, but a TransformerEncoder has self-attention alone: expected null", () -> forward(
                encoder, new AttentionInputs().setQueries(x).setKeys(x)));
        says("selfMask is set, but a TransformerEncoder is no decoder: expected null", () -> forward(
                encoder, new AttentionInputs().setQueries(x).setSelfMask(mask)));
        says(
                "cache is set, but a TransformerEncoder keeps no keys: expected null, or a TransformerDecoderBlock"
                        + " without cross attention",
                () -> forward(encoder, new AttentionInputs().setQueries(x)
                        .setCache(TransformerScene.newCache(manager, 1))));
        says(
                "mask is set, but the TransformerDecoder has no cross attention: expected null; what self-attention"
                        + " reads is in selfValidLens, selfMask and selfBias",
                () -> forward(plain, new AttentionInputs().setQueries(x).setMask(mask)));
        says(
                "keys is null, expected an array: the encoder's output, to which the TransformerDecoder's cross"
                        + " attention attends",
                () -> forward(crossing, x));
        says(
                "selfMask has shape (5, 4), expected (5, 5) with ones where it is repeated",
                () -> forward(crossing, new AttentionInputs().setQueries(x).setKeys(memory)
                        .setSelfMask(manager.ones(new Shape(5, 4), DataType.BOOLEAN))));
        says(
                "selfMask is of FLOAT32, expected BOOLEAN with true = may attend; setSelfBias takes numbers that are"
                        + " added to the scores",
                () -> new AttentionInputs().setSelfMask(x));
        says(
                "cacheUse is CacheUse.READ, expected CacheUse.APPEND: self-attention of a TransformerDecoder"
                        + " appends rows",
                () -> forward(plain, new AttentionInputs().setQueries(x).setCacheUse(CacheUse.READ)
                        .setCache(TransformerScene.newCache(manager, 1))));
        MultiHeadAttention alone = attention().build();
        alone.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        says("selfMask is set, but a MultiHeadAttention block is no decoder: expected null", () -> forward(
                alone, new AttentionInputs().setQueries(x).setSelfMask(mask)));
    }

    private static TransformerDecoder decoder(int numLayers, boolean cross) {
        return TransformerDecoder.builder()
                .setLayer(decoderBlock().optCrossAttention(cross ? attention() : null))
                .setNumLayers(numLayers)
                .build();
    }

    private static void says(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
