// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.TransformerScene.SIZE;
import static io.heed.TransformerScene.encoderBlock;
import static io.heed.TransformerScene.forward;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Children of heed's own blocks share their parameters with the whole block. */
class ChildBlocksTest {
    private final NDManager manager = TestDevice.newManager();
    private final NDArray x = manager.randomNormal(new Shape(1, 3, SIZE));
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

    private Block layer(int index) {
        return encoder.getChildren().get("layers." + index);
    }

    private Block child(String name) {
        return layer(0).getChildren().get(name);
    }

    private static NDArray value(Block block, String parameter) {
        return block.getParameters().get(parameter).getArray();
    }

    @Test
    void haveNamesAndClasses() {
        assertEquals(List.of("layers.0", "layers.1"), encoder.getChildren().keys());
        assertEquals(
                List.of("self_attention", "feed_forward", "norm_1", "norm_2", "dropout_1", "dropout_2"),
                layer(1).getChildren().keys());
        Class<?>[] classes = {
            MultiHeadAttention.class, FeedForward.class, LayerNorm.class, LayerNorm.class, Dropout.class, Dropout.class
        };
        for (int i = 0; i < classes.length; i++) {
            assertSame(classes[i], layer(1).getChildren().valueAt(i).getClass());
        }
        assertSame(layer(0), layer(0));
        assertSame(child("norm_1"), child("norm_1"));
        assertEquals(0, child("norm_1").getChildren().size());
        TransformerDecoderBlock decoder = TransformerScene.decoderBlock()
                .optCrossAttention(TransformerScene.attention())
                .build();
        assertEquals(
                List.of("self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2", "norm_3", "dropout_1",
                        "dropout_2", "dropout_3"),
                decoder.getChildren().keys());
        assertSame(MultiHeadAttention.class, decoder.getChildren().get("cross_attention").getClass());
    }

    @Test
    void parametersHaveDottedNames() {
        List<String> names = encoder.getParameters().keys();
        assertEquals(2 * (8 + 4 + 4), names.size());
        assertEquals("layers.0.self_attention.W_q.weight", names.get(0));
        assertEquals(names, encoder.getDirectParameters().keys());
        assertEquals(List.of("weight", "bias"), child("norm_1").getParameters().keys());
        assertSame(
                encoder.getParameters().get("layers.0.norm_1.weight"), child("norm_1").getParameters().get("weight"));
        assertEquals(Parameter.Type.GAMMA, child("norm_1").getParameters().get("weight").getType());
        assertEquals(Parameter.Type.BETA, child("norm_2").getParameters().get("bias").getType());
        assertEquals(Parameter.Type.WEIGHT, child("feed_forward").getParameters().get("W_1.weight").getType());
        assertEquals(Parameter.Type.BIAS, child("feed_forward").getParameters().get("W_1.bias").getType());
    }

    @Test
    void shareParameters() {
        assertFalse(layer(0).isInitialized());
        assertTrue(child("dropout_1").isInitialized());
        initialize();
        assertTrue(layer(0).isInitialized());
        assertTrue(child("norm_1").isInitialized());
        float[] before = forward(encoder, x).toFloatArray();
        float[] normed = forward(child("norm_1"), x).toFloatArray();
        NDArray twos = manager.full(new Shape(SIZE), 2);
        child("norm_1").getParameters().get("weight").setArray(twos);
        assertArrayEquals(twos.toFloatArray(), value(encoder, "layers.0.norm_1.weight").toFloatArray());
        float[] doubled = forward(child("norm_1"), x).toFloatArray();
        for (int i = 0; i < doubled.length; i++) {
            assertEquals(2 * normed[i], doubled[i]);
        }
        assertFalse(Arrays.equals(before, forward(encoder, x).toFloatArray()));
        encoder.getParameters().get("layers.0.norm_1.weight").setArray(manager.ones(new Shape(SIZE)));
        assertArrayEquals(normed, forward(child("norm_1"), x).toFloatArray());
        assertArrayEquals(before, forward(encoder, x).toFloatArray());
    }

    /** The whole block makes new native layers, of which the children then are. */
    @Test
    void followTheWholeBlock() {
        Block norm = child("norm_2");
        Block attention = child("self_attention");
        initialize();
        assertEquals(DataType.FLOAT32, value(norm, "weight").getDataType());
        forward(attention, x, x, x);
        encoder.cast(DataType.FLOAT16);
        assertEquals(DataType.FLOAT16, value(norm, "weight").getDataType());
        NDArray half = x.toType(DataType.FLOAT16, false);
        assertEquals(DataType.FLOAT16, forward(attention, half, half, half).getDataType());
        encoder.clear();
        assertFalse(norm.isInitialized());
        assertFalse(attention.isInitialized());
        try (NDManager other = manager.newSubManager()) {
            encoder.initialize(other, DataType.FLOAT32, x.getShape());
            forward(attention, x, x, x);
        }
        assertFalse(attention.isInitialized());
        assertThrows(IllegalStateException.class, () -> forward(attention, x, x, x));
        initialize();
        assertEquals(x.getShape(), forward(attention, x, x, x).getShape());
    }

    @Test
    void loadAndSave(@TempDir Path folder) throws Exception {
        initialize();
        NativeBlock network = (NativeBlock) child("feed_forward");
        float[] expected = forward(network, x).toFloatArray();
        network.save(folder.resolve("network"));
        network.load(folder.resolve("network"));
        FeedForward alone = TransformerScene.feedForward().build();
        alone.load(folder.resolve("network"));
        assertArrayEquals(expected, forward(alone, x).toFloatArray());
        encoder.clear();
        network.load(folder.resolve("network"));
        assertTrue(network.isInitialized());
        assertFalse(encoder.isInitialized());
        initialize();
        assertArrayEquals(expected, forward(child("feed_forward"), x).toFloatArray());

        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        network.saveParameters(new DataOutputStream(bytes));
        alone.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
        assertArrayEquals(expected, forward(alone, x).toFloatArray());
    }

    @Test
    void areMadeCastAndClearedAsAWhole() {
        String sentence = "the block is the child \"norm_1\" of another block, which is initialized, cast, cleared and"
                + " read by loadParameters as a whole";
        says(sentence, () -> child("norm_1").initialize(manager, DataType.FLOAT32, x.getShape()));
        initialize();
        child("norm_1").initialize(manager, DataType.FLOAT32, x.getShape());
        assertArrayEquals(new Shape[] {x.getShape()}, child("norm_1").getInputShapes());
        assertThrows(IllegalArgumentException.class, () -> child("norm_1")
                .initialize(manager, DataType.FLOAT32, new Shape(1, 3)));
        assertThrows(IllegalArgumentException.class, () -> child("norm_1")
                .initialize(manager, DataType.FLOAT16, x.getShape()));
        says(sentence, () -> child("norm_1").cast(DataType.FLOAT16));
        says(sentence, () -> child("norm_1").clear());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        says(sentence, () -> {
            child("norm_1").saveParameters(new DataOutputStream(bytes));
            child("norm_1").loadParameters(
                    manager, new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
        });
    }

    @Test
    void areClosedAloneOrWithTheWholeBlock() {
        initialize();
        Block norm = child("norm_1");
        Block network = child("feed_forward");
        forward(network, x);
        norm.close();
        norm.close();
        says("the block is closed", () -> forward(norm, x));
        says("the block is closed", norm::isInitialized);
        assertSame(norm, child("norm_1"));
        assertEquals(x.getShape(), forward(encoder, x).getShape());
        MultiHeadAttention attention = (MultiHeadAttention) child("self_attention");
        attention.setKeepAttentionWeights(true);
        forward(attention, x, x, x);
        assertEquals(new Shape(2, 3, 3), attention.attention.attentionWeights.getShape());
        encoder.close();
        assertThrows(IllegalStateException.class, () -> forward(network, x));
        assertThrows(IllegalStateException.class, network::isInitialized);
        assertEquals(2, encoder.getChildren().size());
        assertThrows(IllegalStateException.class, () -> forward(layer(1), x));
    }

    /** Children compute on two threads while a third replaces the native layers of the whole block. */
    @Test
    void mayBeUsedWhileTheWholeBlockChanges() throws Exception {
        initialize();
        float[] expected = forward(child("feed_forward"), x).toFloatArray();
        AtomicBoolean isDone = new AtomicBoolean();
        Queue<Throwable> errors = new ConcurrentLinkedQueue<>();
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                try {
                    while (!isDone.get()) {
                        assertArrayEquals(expected, forward(child("feed_forward"), x).toFloatArray());
                    }
                } catch (Throwable error) {
                    errors.add(error);
                }
            });
            threads[i].start();
        }
        for (int i = 0; i < 100; i++) {
            encoder.cast(DataType.FLOAT32);
        }
        isDone.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(List.of(), List.copyOf(errors));
    }

    /** An initializer is the parameter's, whichever block it was set through. */
    @Test
    void initializersOfAllDepthsAreUsed() {
        encoder.setInitializer(Initializer.ONES, "layers.1.norm_1.bias");
        layer(0).setInitializer(Initializer.ONES, Parameter.Type.BIAS);
        initialize();
        assertArrayEquals(manager.ones(new Shape(SIZE)).toFloatArray(), value(layer(1), "norm_1.bias").toFloatArray());
        assertArrayEquals(
                manager.ones(new Shape(SIZE)).toFloatArray(), value(child("feed_forward"), "W_2.bias").toFloatArray());
        assertArrayEquals(new float[SIZE], value(layer(1), "feed_forward.W_2.bias").toFloatArray());
    }

    private static void says(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(IllegalStateException.class, call).getMessage());
    }
}
