// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.TransformerScene.SIZE;
import static io.heed.TransformerScene.attention;
import static io.heed.TransformerScene.decoderBlock;
import static io.heed.TransformerScene.forward;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Streams of the parameters of stacks, whose other tests are tests/bindings/cases/transformer_layers.txt. */
class TransformerTest {
    private final NDManager manager = TestDevice.newManager();
    private final NDArray x = manager.randomNormal(new Shape(2, 5, SIZE));
    private final NDArray memory = manager.randomNormal(new Shape(2, 4, 6));

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void parametersAreReadFromAStream() throws Exception {
        TransformerDecoder saved = decoder();
        saved.initialize(manager, DataType.FLOAT32, x.getShape(), memory.getShape());
        float[] expected = forward(saved, x, memory).toFloatArray();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        saved.saveParameters(new DataOutputStream(bytes));
        TransformerDecoder read = decoder();
        read.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
        assertArrayEquals(expected, forward(read, x, memory).toFloatArray());
        assertArrayEquals(saved.getInputShapes(), read.getInputShapes());
    }

    private static TransformerDecoder decoder() {
        return TransformerDecoder.builder()
                .setLayer(decoderBlock().optCrossAttention(attention()))
                .setNumLayers(2)
                .build();
    }
}
