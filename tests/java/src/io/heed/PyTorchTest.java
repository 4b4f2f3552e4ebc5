// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;

import org.junit.jupiter.api.Test;

/** Results against PyTorch's, each within the bound that its file carries. */
class PyTorchTest {
    @Test
    void d2lSizesWithLengths() {
        try (NDManager manager = NDManager.newBaseManager();
                MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0.5f, false)) {
            Path file = TestFiles.golden("d2l");
            attention.load(file, "attention");
            NDList inputs = inputs(manager, file);
            ParameterStore ps = new ParameterStore(manager, false);

            NDArray output = attention.forward(ps, inputs, false).singletonOrThrow();
            assertEquals(new Shape(2, 4, 100), output.getShape());
            assertWithin(manager, file, "output", "bound", output);
            assertEquals(new Shape(10, 4, 6), attention.attention.attentionWeights.getShape());
            assertWithin(manager, file, "weights", "weights_bound", attention.attention.attentionWeights);

            attention.setKeepAttentionWeights(false);
            NDArray again = attention.forward(ps, inputs, false).singletonOrThrow();
            assertArrayEquals(output.toFloatArray(), again.toFloatArray());
            assertNull(attention.attention.attentionWeights);
        }
    }

    @Test
    void biases() {
        try (NDManager manager = NDManager.newBaseManager();
                MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, true)) {
            Path file = TestFiles.golden("pytorch_bias");
            attention.load(file, "attention");
            NDList result = attention.forward(new ParameterStore(), inputs(manager, file), false);
            assertWithin(manager, file, "output", "bound", result.head());
        }
    }

    private static NDList inputs(NDManager manager, Path file) {
        return new NDList(
                manager.load(file, "queries"), manager.load(file, "keys"), manager.load(file, "values"),
                manager.load(file, "valid_lens"));
    }

    private static void assertWithin(NDManager manager, Path file, String expected, String bound, NDArray actual) {
        float[] actuals = actual.toFloatArray();
        double[] expecteds = manager.load(file, expected).toDoubleArray();
        double[] bounds = manager.load(file, bound).toDoubleArray();
        assertEquals(expecteds.length, actuals.length);
        for (int i = 0; i < actuals.length; i++) {
            double difference = Math.abs(actuals[i] - expecteds[i]);
            assertTrue(difference <= bounds[i], expected + " " + i + ": " + difference + " > " + bounds[i]);
        }
    }
}
