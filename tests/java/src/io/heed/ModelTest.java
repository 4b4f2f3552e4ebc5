// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What models.txt and model_contexts.txt of tests/bindings/cases do not have of models: Java's streams, and a logger. */
@Tag("cpu")
class ModelTest {
    private final NDManager manager = NDManager.newBaseManager();
    private final Model model = Model.newInstance("model");
    private final NDArray ids = manager.create(new long[] {1, 2, 3}, new Shape(1, 3));

    @BeforeEach
    void load() {
        model.load(TestFiles.data("models/bert"));
    }

    @AfterEach
    void close() {
        model.close();
        manager.close();
    }

    @Test
    void parametersAreReadFromAStream() throws Exception {
        ModelBlock block = model.getBlock();
        float[] expected = block.forward(ids).head().toFloatArray();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        block.saveParameters(new DataOutputStream(bytes));
        block.getParameters().get("layers.0.norm_1.weight").setArray(manager.zeros(new Shape(32)));
        assertFalse(Arrays.equals(expected, block.forward(ids).head().toFloatArray()));
        block.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
        assertArrayEquals(expected, block.forward(ids).head().toFloatArray());
    }

    /** A logger computes nothing, so that a manager with one is not refused. */
    @Test
    void managersMayHaveALogger() {
        ContextOptions options = ContextOptions.builder().optLogger((level, text) -> {}).build();
        try (NDManager other = NDManager.newBaseManager(Device.cpu(), options)) {
            NDArray ones = other.ones(new Shape(1, 3), DataType.INT32);
            assertEquals(new Shape(1, 3, 32), model.getBlock().forward(ones).head().getShape());
        }
    }
}
