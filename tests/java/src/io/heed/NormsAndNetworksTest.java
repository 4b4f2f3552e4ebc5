// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Norms, feed-forward networks and embeddings, by numbers that were computed in double. */
class NormsAndNetworksTest {
    private final NDManager manager = TestDevice.newManager();

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void layerNorm() {
        LayerNorm norm = LayerNorm.builder().build();
        NDArray x = manager.create(new float[] {1, 2, 4, 8}, new Shape(1, 4));
        norm.initialize(manager, DataType.FLOAT32, x.getShape());
        assertEquals(List.of("weight", "bias"), norm.getParameters().keys());
        assertEquals(Parameter.Type.GAMMA, norm.getParameters().get("weight").getType());
        assertEquals(Parameter.Type.BETA, norm.getParameters().get("bias").getType());
        assertArrayEquals(new float[] {1, 1, 1, 1}, values(norm, "weight"));
        assertArrayEquals(new float[4], values(norm, "bias"));
        set(norm, "weight", 1, .5f, 2, 1);
        set(norm, "bias", 0, .1f, .2f, .3f);
        assertNear(new float[] {-1.0257546f, -.2263765f, .3865008f, 1.8852571f}, TransformerScene.forward(norm, x));
        assertEquals("LayerNorm(kind=LAYER, epsilon=1.0E-5, center=true)", norm.toString());

        LayerNorm plain = LayerNorm.builder().optCenter(false).optEpsilon(1e-5f).build();
        assertEquals(List.of("weight"), plain.getParameters().keys());
        set(plain, "weight", 1, .5f, 2, 1);
        assertNear(new float[] {-1.0257546f, -.3263765f, .1865008f, 1.5852571f}, TransformerScene.forward(plain, x));
    }

    @Test
    void rootMeanSquareNorm() {
        LayerNorm norm = LayerNorm.builder().optKind(NormKind.RMS).optEpsilon(1e-6f).build();
        assertEquals(List.of("weight"), norm.getParameters().keys());
        set(norm, "weight", 1, .5f, 2, 1);
        NDArray x = manager.create(new float[] {1, 2, 4, 8}, new Shape(1, 1, 4));
        assertNear(new float[] {.2169305f, .2169305f, 1.7354436f, 1.7354436f}, TransformerScene.forward(norm, x));
        assertEquals("LayerNorm(kind=RMS, epsilon=1.0E-6, center=false)", norm.toString());
    }

    /** W_1 and W_2 are the identity, so that the output is the activation of the input. */
    @Test
    void activations() {
        float[][] expected = {
            {1, 0, 0}, {.8413447f, -.1586553f, -.0040495f}, {.8411920f, -.1588080f, -.0036374f},
            {.8457958f, -.1542042f, -.0180713f}, {.7310586f, -.2689414f, -.1422776f}
        };
        NDArray x = manager.create(new float[] {1, -1, -3}, new Shape(1, 3));
        NDArray identity = manager.create(new float[][] {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}});
        for (ActivationKind kind : ActivationKind.values()) {
            FeedForward network = FeedForward.builder().setHiddenSize(3).optActivation(kind).optBias(false).build();
            assertEquals(List.of("W_1.weight", "W_2.weight"), network.getParameters().keys());
            network.getParameters().values().forEach(parameter -> parameter.setArray(identity));
            assertNear(expected[kind.ordinal()], TransformerScene.forward(network, x));
        }
    }

    @Test
    void feedForward() {
        FeedForward network = FeedForward.builder().setHiddenSize(2).optOutputSize(1).build();
        assertEquals(List.of("W_1.weight", "W_1.bias", "W_2.weight", "W_2.bias"), network.getParameters().keys());
        NDArray x = manager.create(new float[] {1, 2, -1, 0}, new Shape(1, 2, 2));
        network.getParameters().get("W_1.weight").setArray(manager.create(new float[][] {{1, 1}, {-1, 0}}));
        set(network, "W_1.bias", 0, .5f);
        network.getParameters().get("W_2.weight").setArray(manager.create(new float[][] {{2, 4}}));
        set(network, "W_2.bias", 10);
        NDArray y = TransformerScene.forward(network, x);
        assertEquals(new Shape(1, 2, 1), y.getShape());
        assertArrayEquals(new float[] {16, 16}, y.toFloatArray());
        assertEquals("FeedForward(hiddenSize=2, activation=RELU, gated=false, bias=true, dropout=0.0)",
                network.toString());

        FeedForward gated = FeedForward.builder().setHiddenSize(2).optGated(true).optBias(false).build();
        assertEquals(List.of("W_1.weight", "W_gate.weight", "W_2.weight"), gated.getParameters().keys());
        NDArray identity = manager.create(new float[][] {{1, 0}, {0, 1}});
        gated.getParameters().values().forEach(parameter -> parameter.setArray(identity));
        gated.getParameters().get("W_gate.weight").setArray(manager.create(new float[][] {{2, 0}, {0, 2}}));
        assertArrayEquals(
                new float[] {18, 0},
                TransformerScene.forward(gated, manager.create(new float[] {3, -1}, new Shape(1, 2))).toFloatArray());

        FeedForward dropping = FeedForward.builder().setHiddenSize(64).optDropout(.5f).build();
        NDArray ones = manager.ones(new Shape(4, 8));
        dropping.initialize(manager, DataType.FLOAT32, ones.getShape());
        ParameterStore ps = new ParameterStore();
        float[] first = dropping.forward(ps, new NDList(ones), true).head().toFloatArray();
        assertFalse(Arrays.equals(first, dropping.forward(ps, new NDList(ones), true).head().toFloatArray()));
    }

    @Test
    void embedding() {
        Embedding embedding = Embedding.builder().setNumEmbeddings(3).setEmbeddingSize(2).optScale(2).build();
        embedding.getParameters().get("weight").setArray(manager.create(new float[][] {{1, 2}, {3, 4}, {5, 6}}));
        for (DataType type : new DataType[] {DataType.INT32, DataType.INT64}) {
            NDArray ids = manager.create(new int[] {2, 0, 1, 2}, new Shape(2, 2)).toType(type, false);
            NDArray rows = TransformerScene.forward(embedding, ids);
            assertEquals(new Shape(2, 2, 2), rows.getShape());
            assertArrayEquals(new float[] {10, 12, 2, 4, 6, 8, 10, 12}, rows.toFloatArray());
        }
        assertEquals("Embedding(numEmbeddings=3, embeddingSize=2, paddingIndex=-1, scale=2.0)", embedding.toString());
        assertArrayEquals(new Shape[] {new Shape(5, 2)}, embedding.getOutputShapes(new Shape[] {new Shape(5)}));
    }

    /** The ids have no floating type, so the type of the parameter is that of initialize. */
    @Test
    void embeddingsAreInitializedWithAnyType() {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16}) {
            Embedding embedding =
                    Embedding.builder().setNumEmbeddings(4).setEmbeddingSize(3).optPaddingIndex(1).build();
            embedding.initialize(manager, type, new Shape(2));
            NDArray weight = embedding.getParameters().get("weight").getArray();
            assertEquals(type, weight.getDataType());
            assertEquals(new Shape(4, 3), weight.getShape());
            float[] values = weight.toType(DataType.FLOAT32, false).toFloatArray();
            assertArrayEquals(new float[3], Arrays.copyOfRange(values, 3, 6));
            assertFalse(values[0] == 0 || values[6] == 0);
            NDArray rows = TransformerScene.forward(embedding, manager.create(new int[] {1, 3}));
            assertEquals(type, rows.getDataType());
            embedding.initialize(manager, type, new Shape(7));
        }
        Embedding embedding = Embedding.builder().setNumEmbeddings(4).setEmbeddingSize(3).build();
        says("dataType is FLOAT64, but parameters can only be of FLOAT32, FLOAT16 or BFLOAT16", () ->
                embedding.initialize(manager, DataType.FLOAT64, new Shape(2)));
        assertFalse(embedding.isInitialized());
    }

    @Test
    void errors() {
        says("hiddenSize is 0, expected at least 1", () -> FeedForward.builder().build());
        says("outputSize is -1, expected at least 1, or 0 for the size of the input", () -> FeedForward.builder()
                .setHiddenSize(1).optOutputSize(-1).build());
        says("epsilon is -1, expected a finite number above 0, or 0 for 1e-5", () -> LayerNorm.builder()
                .optEpsilon(-1).build());
        says("numEmbeddings is 0, expected 1 to 2147483647", () -> Embedding.builder().setEmbeddingSize(2).build());
        says("embeddingSize is 0, expected at least 1", () -> Embedding.builder().setNumEmbeddings(2).build());
        says("paddingIndex is 2, expected 0 to 1, or -1 for none", () -> Embedding.builder().setNumEmbeddings(2)
                .setEmbeddingSize(1).optPaddingIndex(2).build());
        Embedding embedding = Embedding.builder().setNumEmbeddings(3).setEmbeddingSize(2).build();
        embedding.initialize(manager, DataType.FLOAT32, new Shape(1));
        says("queries[1, 0] is 3, expected 0 to 2, an id of the embedding", () -> TransformerScene.forward(
                embedding, manager.create(new int[] {2, 0, 3, 1}, new Shape(2, 2))));
        says("queries is FLOAT32, expected INT32 or INT64: the ids of an embedding", () -> TransformerScene.forward(
                embedding, manager.ones(new Shape(2))));
        LayerNorm norm = LayerNorm.builder().build();
        norm.initialize(manager, DataType.FLOAT32, new Shape(1, 4));
        NDArray x = manager.ones(new Shape(1, 4));
        says("mask is set, but a LayerNorm block reads queries alone, expected null", () -> TransformerScene.forward(
                norm, new AttentionInputs().setQueries(x).setMask(manager.ones(new Shape(1, 1), DataType.BOOLEAN))));
        assertThrows(NullPointerException.class, () -> LayerNorm.builder().optKind(null));
        assertThrows(NullPointerException.class, () -> FeedForward.builder().optActivation(null));
    }

    @Test
    void areSavedAndLoaded(@TempDir Path folder) {
        NDArray x = manager.randomNormal(new Shape(2, 4));
        NDArray ids = manager.create(new int[] {1, 2});
        for (int i = 0; i < 3; i++) {
            NativeBlock saved = block(i);
            NDArray input = i == 2 ? ids : x;
            saved.initialize(manager, DataType.FLOAT32, input.getShape());
            Path file = folder.resolve("block" + i);
            saved.save(file);
            NativeBlock loaded = block(i);
            loaded.load(file);
            assertArrayEquals(
                    TransformerScene.forward(saved, input).toFloatArray(),
                    TransformerScene.forward(loaded, input).toFloatArray());
        }
    }

    private static NativeBlock block(int i) {
        return i == 0
                ? LayerNorm.builder().build()
                : i == 1
                        ? FeedForward.builder().setHiddenSize(6).optGated(true).build()
                        : Embedding.builder().setNumEmbeddings(3).setEmbeddingSize(2).build();
    }

    private void set(Block block, String name, float... values) {
        block.getParameters().get(name).setArray(manager.create(values));
    }

    private static float[] values(Block block, String name) {
        return block.getParameters().get(name).getArray().toFloatArray();
    }

    private static void assertNear(float[] expected, NDArray found) {
        // The expected numbers are below 2, where floats are 1.2e-7 apart, and are rounded to seven decimals.
        assertArrayEquals(expected, found.toFloatArray(), 4e-7f);
    }

    private static void says(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
