// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

    /** One of its two layers has a window. */
    @Test
    void cachesOfLayersWithWindowsKeepWhatTheySee() {
        try (Model gemma = Model.newInstance("gemma")) {
            gemma.load(TestFiles.data("models/gemma3"));
            KvCache.Builder builder = KvCache.builder().setBlock(gemma.getBlock()).setCapacity(4096);
            try (KvCache windows = builder.build(manager);
                    KvCache all = builder.optLayerCapacities().build(manager)) {
                assertTrue(windows.getNumBytes() < all.getNumBytes() * 2 / 3);
                assertArrayEquals(logits(gemma, all), logits(gemma, windows));
            }
            IllegalArgumentException refused = assertThrows(
                    IllegalArgumentException.class, () -> builder.optLayerCapacities(4).build(manager));
            assertTrue(refused.getMessage().contains("layerCapacities has 1 numbers"), refused.getMessage());
        }
    }

    private float[] logits(Model gemma, KvCache cache) {
        AttentionInputs inputs = new AttentionInputs().setQueries(ids).setCache(cache);
        ModelBlock block = gemma.getBlock();
        AttentionOutputs outputs = block.createOutputs(inputs);
        block.forward(inputs, outputs, null);
        return outputs.getOutput().toFloatArray();
    }

    @Test
    void settingsThatHeedDoesNotKnowMayBeAccepted(@TempDir Path folder) throws Exception {
        for (String name : new String[] {"config.json", "model.safetensors"}) {
            Files.copy(TestFiles.data("models/bert").resolve(name), folder.resolve(name));
        }
        Path config = folder.resolve("config.json");
        Files.writeString(config, Files.readString(config).replaceFirst("\\{", "{\"an_unknown_setting\": 2,"));
        try (Model other = Model.newInstance("other")) {
            UnsupportedOperationException refused =
                    assertThrows(UnsupportedOperationException.class, () -> other.load(folder));
            assertTrue(refused.getMessage().contains("an_unknown_setting"), refused.getMessage());
            other.load(folder, null, null, "an_unknown_setting");
            assertArrayEquals(
                    model.getBlock().forward(ids).head().toFloatArray(),
                    other.getBlock().forward(ids).head().toFloatArray());
        }
    }
}
