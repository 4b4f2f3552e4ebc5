// SPDX-License-Identifier: Apache-2.0
package io.heed;

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
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Whole models of folders, compared with the numbers of Hugging Face's. */
@Tag("cpu")
class ModelTest {
    private static final String[] PIECES = {"prefill", "step1", "step2", "step3", "chunk"};

    private final NDManager manager = NDManager.newBaseManager();
    private final Model model = Model.newInstance("model");
    private Path folder;

    @AfterEach
    void close() {
        model.close();
        manager.close();
    }

    private ModelBlock load(String family) {
        folder = TestFiles.data("models/" + family);
        model.load(folder);
        return model.getBlock();
    }

    private NDArray array(String name) {
        return manager.load(folder.resolve("cases.safetensors"), name);
    }

    /** The number of ids of each batch element, before its padding. */
    private int[] lengths() {
        long[] mask = array("attention_mask").toLongArray();
        int[] lengths = new int[2];
        for (int i = 0; i < mask.length; i++) {
            lengths[i * 2 / mask.length] += (int) mask[i];
        }
        return lengths;
    }

    /** Expects the numbers of the file, without those of padding, to 1e-5 of the largest. */
    private void expect(String name, NDArray found, int... lengths) {
        Shape shape = found.getShape();
        assertEquals(array(name).getShape(), shape);
        float[] expected = array(name).toFloatArray();
        float[] numbers = found.toFloatArray();
        float largest = 0;
        for (float number : expected) {
            largest = Math.max(largest, Math.abs(number));
        }
        long columns = shape.get(2);
        long rows = shape.get(1);
        for (int i = 0; i < numbers.length; i++) {
            int row = (int) (i / columns);
            if (lengths.length == 0 || row % rows < lengths[(int) (row / rows)]) {
                assertEquals(expected[i], numbers[i], 1e-5f * largest, name + " " + i);
            }
        }
    }

    @Test
    void encoders() {
        for (String family : new String[] {"bert", "albert"}) {
            try (Model other = Model.newInstance(family)) {
                folder = TestFiles.data("models/" + family);
                other.load(folder);
                NDArray lens = manager.create(lengths());
                NDArray ids = array("input_ids");
                NDArray types = array("token_type_ids");
                expect("last_hidden_state", forward(other.getBlock(), ids, lens, types), lengths());
                AttentionInputs inputs = new AttentionInputs().setQueries(ids).setValidLens(lens).setTokenTypes(types);
                assertSame(types, inputs.getTokenTypes());
                expect("last_hidden_state", forward(other.getBlock(), inputs), lengths());
                assertEquals(array("last_hidden_state").getShape(), forward(other.getBlock(), ids).getShape());
                NDArray zeros = manager.zeros(types.getShape(), DataType.INT64);
                assertArrayEquals(
                        forward(other.getBlock(), ids, null, zeros).toFloatArray(),
                        forward(other.getBlock(), ids, null).toFloatArray());
            }
        }
    }

    /** T5EncoderModel, whose folder has no decoder. */
    @Test
    void theEncoderOfATransformerAlone() {
        folder = TestFiles.data("model_settings/t5-encoder-alone");
        model.load(folder);
        NDArray ids = array("input_ids");
        NDArray found = forward(model.getBlock(), ids, manager.create(lengths()));
        expect("last_hidden_state", found, lengths());
        assertFalse(model.getBlock().getChildren().keys().contains("decoder"));
    }

    @Test
    void decoders() {
        for (String family : new String[] {"gpt2", "llama"}) {
            try (Model other = Model.newInstance(family)) {
                folder = TestFiles.data("models/" + family);
                other.load(folder);
                NDArray ids = array("input_ids");
                expect("logits", forward(other.getBlock(), ids, manager.create(lengths())), lengths());
                expect("logits", forward(other.getBlock(), ids), lengths());
                steps(other.getBlock(), new AttentionInputs(), "decode.input_ids");
            }
        }
    }

    /** In pieces, each of which appends its rows to the cache. */
    private void steps(ModelBlock block, AttentionInputs inputs, String name) {
        NDArray ids = array(name);
        KvCache cache = KvCache.builder().setBlock(block).optMaxSequences(2).setCapacity(16).build(manager);
        inputs.setCache(cache);
        long begin = 0;
        for (String piece : PIECES) {
            long end = begin + array(piece + ".logits").getShape().get(1);
            inputs.setQueries(ids.get(new NDIndex(":, {}:{}", begin, end)));
            expect(piece + ".logits", forward(block, inputs));
            begin = end;
        }
        assertEquals(begin, cache.length(1));
    }

    @Test
    void transformers() {
        ModelBlock block = load("t5");
        NDArray lens = manager.create(lengths());
        NDArray ids = array("input_ids");
        NDArray decoderIds = array("decoder_input_ids");
        expect("logits", forward(block, decoderIds, ids, lens));
        AttentionInputs inputs = new AttentionInputs().setKeys(ids).setValidLens(lens);
        NDArray memory = forward(block, inputs);
        expect("encoder.last_hidden_state", memory, lengths());
        inputs.setQueries(decoderIds);
        expect("logits", forward(block, inputs));
        inputs.setKeys(null).setMemory(memory);
        assertSame(memory, inputs.getMemory());
        expect("logits", forward(block, inputs));
        steps(block, inputs, "decode.decoder_input_ids");
    }

    @Test
    void images() {
        ModelBlock block = load("vit");
        NDArray images = array("pixel_values");
        expect("last_hidden_state", forward(block, images));
        Shape[] shapes = block.getOutputShapes(new Shape[] {images.getShape()});
        assertEquals(array("last_hidden_state").getShape(), shapes[0]);
    }

    @Test
    void audio() {
        ModelBlock block = load("whisper");
        NDArray features = array("input_features");
        NDArray ids = array("decoder_input_ids");
        expect("logits", forward(block, ids, features));
        Shape[] shapes = block.getOutputShapes(new Shape[] {ids.getShape(), features.getShape()});
        assertEquals(array("logits").getShape(), shapes[0]);
    }

    /** The keys and values of the encoder's output are projected once. */
    @Test
    void memoryInACache() {
        ModelBlock block = load("t5");
        KvCache memory = KvCache.builder().setBlock(block).optMaxSequences(2).setCapacity(11).build(manager);
        AttentionInputs inputs = new AttentionInputs()
                .setKeys(array("input_ids"))
                .setValidLens(manager.create(lengths()))
                .setCache(memory);
        try (Workspace workspace = manager.newWorkspace(block.workspaceSize(inputs, new AttentionOutputs()))) {
            block.fillCache(inputs, workspace);
        }
        assertEquals(lengths()[0], memory.length(0));
        assertEquals(lengths()[1], memory.length(1));
        inputs.clear().setMemoryCache(memory);
        assertSame(memory, inputs.getMemoryCache());
        steps(block, inputs, "decode.decoder_input_ids");

        // The batch elements in the other order.
        NDArray ids = array("decode.decoder_input_ids").get(new NDIndex(":, 0:9"));
        NDArray swapped = manager.create(ids.getShape(), DataType.INT64);
        ids.get(new NDIndex("1:2")).copyTo(swapped.get(new NDIndex("0:1")));
        ids.get(new NDIndex("0:1")).copyTo(swapped.get(new NDIndex("1:2")));
        inputs.setCache(null).setQueries(swapped).setMemorySequences(1, 0);
        assertArrayEquals(new long[] {1, 0}, inputs.getMemorySequences());
        float[] found = forward(block, inputs).toFloatArray();
        inputs.setQueries(ids).setMemorySequences((long[]) null);
        float[] straight = forward(block, inputs).toFloatArray();
        int half = found.length / 2;
        assertArrayEquals(Arrays.copyOfRange(straight, half, 2 * half), Arrays.copyOf(found, half));
        says("keys is set, but so is memoryCache, which has the keys and their number: expected null", () -> forward(
                block, inputs.setKeys(array("input_ids"))));
        inputs.setKeys(null).setMemoryCacheLayer(1);
        assertEquals(1, inputs.getMemoryCacheLayer());
        says("memoryCacheLayer is 1, from which on the cache has too few layers, 1: block 1 of this one uses block 2 of"
                + " it, expected one for each, as KvCache.Builder.setBlock says", () -> forward(block, inputs));
        inputs.setMemoryCache(null).setKeys(array("input_ids"));
        says("memoryCacheLayer is 1, but memoryCache is null: expected a cache", () -> forward(block, inputs));
        inputs.setMemoryCacheLayer(0).setMemorySequences(0, 0);
        says("memorySequences are set, but memoryCache is null: expected a cache", () -> forward(block, inputs));
        memory.close();
        inputs.setKeys(null).setMemoryCache(memory);
        assertEquals(
                "the cache is closed",
                assertThrows(IllegalStateException.class, () -> forward(block, inputs)).getMessage());
    }

    @Test
    void blocksAreBlocks(@TempDir Path saved) throws Exception {
        ModelBlock block = load("bert");
        NDArray ids = array("input_ids");
        float[] expected = forward(block, ids).toFloatArray();
        assertTrue(block.isInitialized());
        assertEquals("ModelBlock(" + folder + ")", block.toString());
        block.initialize(manager, DataType.FLOAT32, ids.getShape(), new Shape(2), ids.getShape());
        assertArrayEquals(new Shape[] {new Shape(2, 11, 32)}, block.getOutputShapes(new Shape[] {ids.getShape()}));
        assertEquals(new Shape(40, 32), block.getParameters().get("embedding.weight").getShape());
        assertEquals(
                List.of("embedding", "token_type_embedding", "positions", "embedding_norm", "embedding_dropout"),
                block.getChildren().keys().subList(0, 5));
        ModelBlock layer = (ModelBlock) block.getChildren().get("layers.1");
        assertEquals("ModelBlock(" + folder + ", layers.1.self_attention)",
                layer.getChildren().get("self_attention").toString());
        NDArray rows = manager.randomNormal(new Shape(1, 3, 32));
        assertEquals(rows.getShape(), forward(layer, rows, manager.create(new int[] {2})).getShape());
        assertEquals(rows.getShape(), forward(layer.getChildren().get("self_attention"), rows, rows, rows).getShape());
        assertEquals(new Shape(2, 11, 32), forward(block.getChildren().get("embedding"), ids).getShape());

        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        block.saveParameters(new DataOutputStream(bytes));
        block.save(saved.resolve("bert"));
        block.getParameters().get("layers.0.norm_1.weight").setArray(manager.zeros(new Shape(32)));
        assertFalse(Arrays.equals(expected, forward(block, ids).toFloatArray()));
        block.load(saved.resolve("bert"));
        assertArrayEquals(expected, forward(block, ids).toFloatArray());
        block.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
        assertArrayEquals(expected, forward(block, ids).toFloatArray());
        String sentence = "the block is that of a model, whose parameters have the types of its folder: expected"
                + " neither clear nor cast";
        refused(sentence, block::clear);
        refused(sentence, () -> block.cast(DataType.BFLOAT16));
    }

    private static NDManager newManager(ContextOptions.Builder options) {
        return NDManager.newBaseManager(Device.cpu(), options.build());
    }

    /** In the context of a manager with other options. */
    @Test
    void otherContexts() {
        ModelBlock block = load("gpt2");
        float[] expected = forward(block, array("input_ids")).toFloatArray();
        try (Model other = Model.newInstance("other");
                NDManager single = newManager(ContextOptions.builder().optNumThreads(1));
                NDManager alike = newManager(ContextOptions.builder().optNumThreads(1));
                NDManager below = single.newSubManager()) {
            NDManager owner = single.newSubManager();
            other.load(folder, owner);
            for (NDManager each : new NDManager[] {owner, single, alike, below}) {
                NDArray ids = each.load(folder.resolve("cases.safetensors"), "input_ids");
                assertArrayEquals(expected, other.getBlock().forward(ids).singletonOrThrow().toFloatArray());
            }
            // The parameters are the manager's, and the folder is not read a second time.
            Parameter table = other.getBlock().getParameters().get("embedding.weight");
            assertSame(owner, table.getArray().getManager());
            table.setArray(manager.zeros(table.getShape()));
            owner.close();
            String closed = "the block, or the manager that it was initialized with, is closed";
            NDArray ids = array("input_ids");
            refused(closed, () -> other.getBlock().initialize(manager, DataType.FLOAT32, ids.getShape()));
            refused(closed, () -> other.getBlock().load(folder.resolve("model.safetensors")));
            refused("the manager is closed", () -> Model.newInstance("closed").load(folder, owner));
            NullPointerException none =
                    assertThrows(NullPointerException.class, () -> Model.newInstance("none").load(folder, null));
            assertEquals("manager", none.getMessage());
        }
    }

    /** Every file could be gone after load: nothing is read again, by whatever manager. */
    @Test
    void aFolderIsReadOnce(@TempDir Path copy) throws Exception {
        folder = TestFiles.data("models/gpt2");
        for (String name : new String[] {"config.json", "model.safetensors", "cases.safetensors"}) {
            Files.copy(folder.resolve(name), copy.resolve(name));
        }
        try (NDManager single = newManager(ContextOptions.builder().optNumThreads(1));
                Model other = Model.newInstance("other")) {
            model.load(copy);
            other.load(copy, single);
            Files.delete(copy.resolve("config.json"));
            Files.delete(copy.resolve("model.safetensors"));
            NDArray ids = array("input_ids");
            expect("logits", model.getBlock().forward(ids, manager.create(lengths())).head(), lengths());
            expect("logits", forward(other.getBlock(), single.create(ids.toLongArray(), ids.getShape())), lengths());
            forward(other.getBlock().getChildren().get("layers.0"), single.ones(new Shape(1, 3, 32)));
        }
    }

    /** Threads, strictness and the rest of the options are never ignored. */
    @Test
    void managersWithOtherOptionsAreRefused() {
        ModelBlock block = load("gpt2");
        ContextOptions.Builder[] others = {
            ContextOptions.builder().optNumThreads(1),
            ContextOptions.builder().optStrict(true),
            ContextOptions.builder().optAllowReducedPrecision(true),
            ContextOptions.builder().optFlushSubnormals(true)
        };
        for (ContextOptions.Builder options : others) {
            try (NDManager other = newManager(options)) {
                NDArray ids = other.ones(new Shape(1, 3), DataType.INT32);
                String sentence = " is of a manager for cpu() with " + options.build() + ", but the model was loaded"
                        + " for cpu() with " + ContextOptions.builder().build() + ": expected that device and these"
                        + " options, as load(folder, manager) takes them from a manager";
                AttentionInputs inputs = new AttentionInputs().setQueries(ids);
                says("queries" + sentence, () -> block.forward(ids));
                says("queries" + sentence, () -> block.createOutputs(inputs));
                says("queries" + sentence, () -> block.workspaceSize(inputs, new AttentionOutputs()));
                says("queries" + sentence, () -> block.explain(inputs, new AttentionOutputs()));
                says("queries" + sentence, () -> block.explain(new NDList(ids)));
                NDArray rows = other.ones(new Shape(1, 3, 32));
                says("queries" + sentence, () -> block.getChildren().get("layers.0").forward(rows));
            }
        }
        // A logger computes nothing.
        try (NDManager other = newManager(ContextOptions.builder().optLogger((level, text) -> {}))) {
            forward(block, other.ones(new Shape(1, 3), DataType.INT32));
        }
    }

    @Test
    void sharedLayersListTheirParametersOnce() {
        ModelBlock block = load("albert");
        assertFalse(block.getParameters().keys().contains("layers.1.norm_1.weight"));
        Block layer = block.getChildren().get("layers.1");
        assertSame(
                block.getParameters().get("layers.0.norm_1.weight"), layer.getParameters().get("norm_1.weight"));
        NDArray ids = array("input_ids");
        float[] before = forward(block, ids).toFloatArray();
        layer.getParameters().get("norm_1.weight").setArray(manager.zeros(new Shape(32)));
        assertFalse(Arrays.equals(before, forward(block, ids).toFloatArray()));
    }

    @Test
    void closing() {
        ModelBlock block = load("gpt2");
        NDArray ids = array("input_ids");
        assertEquals("model", model.getName());
        assertEquals("Model(model, ModelBlock(" + folder + "))", model.toString());
        assertSame(block, model.getBlock());
        refused("the model \"model\" has been loaded already: make another one", () -> model.load(folder));
        Block layer = block.getChildren().get("layers.0");
        model.close();
        model.close();
        refused("the model is closed", model::getBlock);
        refused("the model is closed", () -> model.load(folder));
        String sentence = "the block, or the manager that it was initialized with, is closed";
        refused(sentence, () -> forward(block, ids));
        refused(sentence, () -> KvCache.builder().setBlock(block));
        refused(sentence, () -> block.fillCache(new AttentionInputs().setKeys(ids), null));
        assertThrows(IllegalStateException.class, () -> forward(layer, manager.ones(new Shape(1, 3, 32))));
        assertTrue(model.toString().endsWith(", closed)"));
        Model fresh = Model.newInstance("fresh");
        refused("the model \"fresh\" has no block: expected load first", fresh::getBlock);
        assertEquals("Model(fresh, not loaded)", fresh.toString());
        fresh.close();
        assertThrows(NullPointerException.class, () -> Model.newInstance(null));
        assertThrows(NullPointerException.class, () -> Model.newInstance("model").load(null));
    }

    @Test
    void folders(@TempDir Path some) throws Exception {
        Path missing = some.resolve("missing");
        HeedException error = assertThrows(HeedException.class, () -> model.load(missing));
        assertEquals(Status.IO, error.getStatus());
        assertTrue(error.getMessage().contains("\"" + missing + "\""), error.getMessage());
        Files.write(some.resolve("config.json"), "{\"model_type\":\"parrot\"}".getBytes(StandardCharsets.UTF_8));
        UnsupportedOperationException unknown =
                assertThrows(UnsupportedOperationException.class, () -> model.load(some));
        assertTrue(unknown.getMessage().contains("\"parrot\""), unknown.getMessage());
        Files.write(some.resolve("config.json"), "{\"model_type\":\"bert\"}".getBytes(StandardCharsets.UTF_8));
        assertEquals(
                Status.IO, assertThrows(HeedException.class, () -> model.load(some)).getStatus());
        // A model that could not be loaded may be loaded from another folder.
        assertEquals(new Shape(2, 11, 40), forward(load("gpt2"), array("input_ids")).getShape());
    }

    @Test
    void inputs() {
        ModelBlock block = load("gpt2");
        NDArray ids = array("input_ids");
        says("queries is FLOAT32, expected INT32 or INT64: the ids of an embedding", () -> forward(
                block, ids.toType(DataType.FLOAT32, false)));
        IllegalArgumentException outside = assertThrows(
                IllegalArgumentException.class,
                () -> forward(block, manager.create(new long[] {1, 99}, new Shape(1, 2))));
        assertTrue(outside.getMessage().contains("99, expected 0 to 39"), outside.getMessage());
        says("queries has shape (2, 11, 1), expected (B, S), the ids of the rows", () -> forward(
                block, ids.reshape(2, 11, 1)));
        says("inputs has 3 arrays, expected 1 or 2: ids and, optional, selfValidLens", () -> forward(
                block, ids, ids, ids));
        says("tokenTypes is set, but the decoder has no token types: expected null", () -> forward(
                block, new AttentionInputs().setQueries(ids).setTokenTypes(ids)));
        UnsupportedOperationException error = assertThrows(
                UnsupportedOperationException.class,
                () -> KvCache.builder().setBlock(Linear.builder().setUnits(1).build()));
        assertTrue(error.getMessage().contains("expected a MultiHeadAttention"), error.getMessage());
        assertEquals(
                "block is a SequentialBlock, expected one of heed's own",
                assertThrows(
                                UnsupportedOperationException.class,
                                () -> KvCache.builder().setBlock(new SequentialBlock()))
                        .getMessage());
    }

    private static void says(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(IllegalArgumentException.class, call).getMessage());
    }

    private static void refused(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(IllegalStateException.class, call).getMessage());
    }
}
