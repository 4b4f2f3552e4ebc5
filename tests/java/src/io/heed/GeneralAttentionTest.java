// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Attention whose score is q . (W k). */
class GeneralAttentionTest {
    private NDManager manager;
    private NDList inputs;
    private final ParameterStore ps = new ParameterStore();

    /** A query (1, 2), and W that makes the scores 0, 1 and 2 of three keys: (1, 2) W = (1, 0, 2). */
    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        inputs = new NDList(
                manager.create(new float[] {1, 2}, new Shape(1, 1, 2)),
                manager.create(new float[] {0, 5, 0, 1, 7, 0, 0, 0, 1}, new Shape(1, 3, 3)),
                manager.create(new float[] {7, 0, 7, 7, 14, 7}, new Shape(1, 3, 2)));
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** With a factor of ln 2, the weights are 1, 2 and 4 sevenths; with the default of 1, powers of e. */
    @Test
    void scoresAreTheProductOfQueryAndProjectedKey() {
        GeneralAttention halves = withValue(GeneralAttention.builder().setQuerySize(2).optScale((float) Math.log(2)));
        halves.setKeepAttentionWeights(true);
        assertArrayEquals(
                new float[] {11, 6}, halves.forward(ps, inputs, false).head().toFloatArray(), 8 * Math.ulp(11f));
        assertEquals(new Shape(1, 1, 3), halves.attentionWeights.getShape());
        assertArrayEquals(
                new float[] {1 / 7f, 2 / 7f, 4 / 7f}, halves.attentionWeights.toFloatArray(), 8 * Math.ulp(0.5f));

        GeneralAttention plain = withValue(GeneralAttention.builder().setQuerySize(2));
        double e = Math.E;
        double sum = 1 + e + e * e;
        assertArrayEquals(
                new double[] {(7 + 7 * e + 14 * e * e) / sum, (7 * e + 7 * e * e) / sum},
                plain.forward(ps, inputs, false).head().toType(DataType.FLOAT64, false).toDoubleArray(),
                8 * Math.ulp(11f));
        assertNull(plain.attentionWeights);

        // With a length of 2, weights of 1 and 2 thirds.
        NDList shorter = new NDList(inputs.get(0), inputs.get(1), inputs.get(2), manager.create(new int[] {2}));
        assertArrayEquals(
                new float[] {7, 14 / 3f}, halves.forward(ps, shorter, false).head().toFloatArray(), 8 * Math.ulp(7f));
    }

    @Test
    void describesItself() throws Exception {
        try (GeneralAttention attention = new GeneralAttention(2, 0.5f)) {
            assertTrue(attention.isKeepAttentionWeights());
            assertEquals("GeneralAttention(querySize=2, dropout=0.5)", attention.toString());
            assertEquals(List.of("W.weight"), attention.getParameters().keys());
            attention.initialize(manager, DataType.FLOAT32, inputs.getShapes());
            assertEquals(new Shape(2, 3), attention.getParameters().get("W.weight").getShape());
            assertArrayEquals(
                    new Shape[] {new Shape(4, 5, 6)},
                    attention.getOutputShapes(
                            new Shape[] {new Shape(4, 5, 2), new Shape(4, 7, 3), new Shape(4, 7, 6)}));
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            attention.save(bytes);
            String saved = bytes.toString(StandardCharsets.ISO_8859_1);
            assertTrue(saved.contains("\"general_attention\""), saved);
        }
        assertFalse(GeneralAttention.builder().setQuerySize(2).build().isKeepAttentionWeights());
    }

    @Test
    void namesWhatIsWrong() {
        refused("querySize is 0, expected at least 1", () -> new GeneralAttention(0, 0));
        refused("dropout", () -> new GeneralAttention(2, 1));
        refused("windowLeft", () -> GeneralAttention.builder().setQuerySize(2).optWindow(Window.NONE, 1, 1).build());
        GeneralAttention other = new GeneralAttention(3, 0);
        refused("queries has shape (1, 1, 2), expected 3 elements in a row, the block's querySize",
                () -> other.initialize(manager, DataType.FLOAT32, inputs.getShapes()));
        GeneralAttention attention = withValue(GeneralAttention.builder().setQuerySize(2));
        NDArray query = inputs.get(0);
        refused("(2, 3)", () -> attention.forward(ps, new NDList(query, query, query), false));
    }

    private GeneralAttention withValue(GeneralAttention.Builder builder) {
        GeneralAttention attention = builder.build();
        attention.getParameters()
                .get("W.weight")
                .setArray(manager.create(new float[][] {{1, 2, 0}, {0, -1, 1}}));
        return attention;
    }

    private static void refused(String words, Executable use) {
        String message = assertThrows(IllegalArgumentException.class, use).getMessage();
        assertTrue(message.contains(words), message);
    }
}
