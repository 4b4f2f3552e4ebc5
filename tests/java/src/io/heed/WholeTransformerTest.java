// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.TransformerScene.SIZE;
import static io.heed.TransformerScene.attention;
import static io.heed.TransformerScene.decoderBlock;
import static io.heed.TransformerScene.encoderBlock;
import static io.heed.TransformerScene.forward;
import static io.heed.TransformerScene.near;
import static io.heed.TransformerScene.sum;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Stacks with embeddings, positions and an output; Transformers; the options of layers that only some models have. */
@Tag("cpu")
class WholeTransformerTest {
    private final NDManager manager = NDManager.newBaseManager();
    private final NDArray ids = manager.create(new int[] {1, 4, 2, 0, 6, 5}, new Shape(2, 3));
    private final NDArray x = manager.randomNormal(new Shape(2, 3, SIZE));

    @AfterEach
    void close() {
        manager.close();
    }

    private static Embedding.Builder embedding() {
        return Embedding.builder().setNumEmbeddings(7);
    }

    private static PositionalEncoding.Builder positions() {
        return PositionalEncoding.builder().setMaxLen(9).optKind(PositionKind.LEARNED);
    }

    private static TransformerEncoder.Builder encoder() {
        return TransformerEncoder.builder().setLayer(encoderBlock()).setNumLayers(2);
    }

    private static TransformerDecoder.Builder decoder() {
        return TransformerDecoder.builder().setLayer(decoderBlock().optCrossAttention(attention())).setNumLayers(2);
    }

    @Test
    void aStackIsWhatItsChildrenCompute() {
        TransformerEncoder stack = encoder()
                .optEmbedding(embedding().setEmbeddingSize(6).optScale(2).optPaddingIndex(1))
                .optPositions(positions())
                .optNumTokenTypes(2)
                .optFinalNorm(true)
                .optOutput(OutputOptions.builder().setSize(5).optBias(true).optScale(.5f).optSoftCap(3).build())
                .build();
        NDArray types = manager.create(new long[] {0, 1, 1, 0, 0, 1}, new Shape(2, 3));
        NDArray lens = manager.create(new int[] {3, 2});
        stack.initialize(manager, DataType.FLOAT32, ids.getShape(), lens.getShape(), types.getShape());
        BlockList children = stack.getChildren();
        assertEquals(
                List.of("embedding", "token_type_embedding", "positions", "embedding_projection", "embedding_dropout",
                        "layers.0", "layers.1", "norm", "output"),
                children.keys());
        Class<?>[] classes = {
            Embedding.class, Embedding.class, PositionalEncoding.class, Linear.class, Dropout.class,
            TransformerEncoderBlock.class, TransformerEncoderBlock.class, LayerNorm.class, Linear.class
        };
        for (int i = 0; i < classes.length; i++) {
            assertSame(classes[i], children.valueAt(i).getClass());
        }
        assertEquals("Linear(units=5, bias=true)", children.get("output").toString());
        assertEquals("Embedding(numEmbeddings=2, embeddingSize=6, paddingIndex=-1, scale=1.0)",
                children.get("token_type_embedding").toString());
        NDArray rows = sum(
                forward(children.get("embedding"), ids), forward(children.get("token_type_embedding"), types));
        rows = forward(children.get("embedding_projection"), forward(children.get("positions"), rows));
        for (String name : new String[] {"layers.0", "layers.1"}) {
            rows = forward(children.get(name), rows, lens);
        }
        NDArray expected = forward(children.get("output"), forward(children.get("norm"), rows));
        NDArray found = forward(stack, ids, lens, types);
        assertEquals(new Shape(2, 3, 5), found.getShape());
        near(expected, found);
        assertArrayEquals(
                new Shape[] {found.getShape()}, stack.getOutputShapes(new Shape[] {ids.getShape()}));
        assertEquals(new Shape(7, 6), stack.getParameters().get("embedding.weight").getShape());
        assertArrayEquals(
                new float[6],
                stack.getParameters().get("embedding.weight").getArray().get(new NDIndex("1")).toFloatArray());
        String text = stack.toString();
        assertTrue(text.contains(", embedding=Embedding(numEmbeddings=7, embeddingSize=6, paddingIndex=1, scale=2.0), "
                + "numTokenTypes=2, positions=PositionalEncoding("), text);
        assertTrue(
                text.endsWith(", output=OutputOptions(size=5, tied=false, bias=true, scale=0.5, softCap=3.0))"), text);
    }

    @Test
    void aTiedOutputHasTheTableOfTheEmbedding(@TempDir Path folder) {
        TransformerDecoder stack = TransformerDecoder.builder()
                .setLayer(decoderBlock())
                .setNumLayers(1)
                .optEmbedding(embedding())
                .optEmbeddingNorm(true)
                .optOutput(OutputOptions.builder().optTied(true).build())
                .build();
        stack.initialize(manager, DataType.FLOAT16, ids.getShape());
        assertEquals(DataType.FLOAT16, forward(stack, ids).getDataType());
        stack.cast(DataType.FLOAT32);
        assertEquals(new Shape(2, 3, 7), forward(stack, ids).getShape());
        assertFalse(stack.getParameters().keys().contains("output.weight"));
        assertTrue(stack.getChildren().keys().contains("embedding_norm"));
        assertEquals("Linear(units=7, bias=false)", stack.getChildren().get("output").toString());
        NDArray rows = forward(stack.getChildren().get("layers.0"),
                forward(stack.getChildren().get("embedding_norm"), forward(stack.getChildren().get("embedding"), ids)));
        near(forward(stack.getChildren().get("output"), rows), forward(stack, ids));

        stack.save(folder.resolve("decoder"));
        float[] expected = forward(stack, ids).toFloatArray();
        stack.clear();
        assertFalse(stack.isInitialized());
        stack.load(folder.resolve("decoder"));
        assertArrayEquals(expected, forward(stack, ids).toFloatArray());

        KvCache cache = KvCache.builder().setBlock(stack).optMaxSequences(2).setCapacity(3).build(manager);
        AttentionInputs inputs = new AttentionInputs().setCache(cache);
        float[] steps = {};
        for (int i = 0; i < 3; i++) {
            inputs.setQueries(ids.get(new NDIndex("0:1, {}:{}", i, i + 1))).setSequences(1);
            NDArray step = forward(stack, inputs);
            steps = CacheScene.joined(steps, step.toFloatArray());
        }
        near(forward(stack, ids.get(new NDIndex("0:1"))), manager.create(steps, new Shape(1, 3, 7)));
    }

    /** As in OPT, where positions have the size of the layers' rows, and the output is tied to a smaller embedding. */
    @Test
    void anEmbeddingMayBeProjectedBeforePositions() {
        TransformerDecoder stack = TransformerDecoder.builder()
                .setLayer(decoderBlock())
                .setNumLayers(1)
                .optEmbedding(embedding().setEmbeddingSize(6))
                .optPositions(positions().setNumHiddens(SIZE))
                .optProjectionBias(false)
                .optFinalNorm(true)
                .optOutput(OutputOptions.builder().optTied(true).build())
                .build();
        stack.initialize(manager, DataType.FLOAT32, ids.getShape());
        BlockList children = stack.getChildren();
        assertEquals(
                List.of("embedding", "embedding_projection", "positions", "embedding_dropout", "layers.0", "norm",
                        "output_projection", "output"),
                children.keys());
        assertEquals("Linear(units=8, bias=false)", children.get("embedding_projection").toString());
        assertEquals("Linear(units=6, bias=false)", children.get("output_projection").toString());
        NDArray rows = ids;
        for (String name : children.keys()) {
            rows = forward(children.get(name), rows);
        }
        assertEquals(new Shape(2, 3, 7), rows.getShape());
        near(rows, forward(stack, ids));
        assertTrue(stack.toString().contains(", projectionBias=false, output="), stack.toString());
    }

    @Test
    void sharedLayersAreOne() {
        TransformerEncoder stack = encoder().optShareLayers(true).build();
        stack.initialize(manager, DataType.FLOAT32, x.getShape());
        assertEquals(8 + 4 + 4, stack.getParameters().size());
        Block first = stack.getChildren().get("layers.0");
        Block second = stack.getChildren().get("layers.1");
        assertEquals(first.getParameters().keys(), second.getParameters().keys());
        assertArrayEquals(forward(first, forward(first, x)).toFloatArray(), forward(stack, x).toFloatArray());
        second.getParameters().get("norm_2.bias").setArray(manager.ones(new Shape(SIZE)));
        assertArrayEquals(forward(first, x).toFloatArray(), forward(second, x).toFloatArray());
        assertTrue(stack.toString().contains(", shareLayers=true"));
    }

    @Test
    void layersOfOtherModels() {
        TransformerEncoderBlock block =
                encoderBlock().optNormFirst(true).optOutputNorms(true).optNoFirstNorm(true).build();
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        BlockList children = block.getChildren();
        assertEquals(
                List.of("self_attention", "feed_forward", "norm_2", "output_norm_1", "output_norm_2", "dropout_1",
                        "dropout_2"),
                sorted(children.keys()));
        NDArray h = sum(x, forward(children.get("output_norm_1"), forward(children.get("self_attention"), x, x, x)));
        NDArray f = forward(children.get("feed_forward"), forward(children.get("norm_2"), h));
        near(sum(h, forward(children.get("output_norm_2"), f)), forward(block, x));
        assertTrue(block.toString().endsWith(", outputNorms=true, noFirstNorm=true)"), block.toString());
        assertEquals(
                Parameter.Type.GAMMA, block.getParameters().get("output_norm_1.weight").getType());

        TransformerEncoderBlock scaled = encoderBlock().optNormFirst(true).optResidualScale(.5f).build();
        scaled.initialize(manager, DataType.FLOAT32, x.getShape());
        children = scaled.getChildren();
        NDArray normed = forward(children.get("norm_1"), x);
        h = sum(x, halved(forward(children.get("self_attention"), normed, normed, normed)));
        f = halved(forward(children.get("feed_forward"), forward(children.get("norm_2"), h)));
        near(sum(h, f), forward(scaled, x));
        assertTrue(scaled.toString().endsWith(", residualScale=0.5)"), scaled.toString());
    }

    private static NDArray halved(NDArray array) {
        float[] numbers = array.toFloatArray();
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] /= 2;
        }
        return array.getManager().create(numbers, array.getShape());
    }

    /** The names, with those of norms before those of dropouts. */
    private static List<String> sorted(List<String> names) {
        List<String> sorted = new ArrayList<>(names);
        sorted.sort((left, right) -> Boolean.compare(left.startsWith("dropout"), right.startsWith("dropout")));
        return sorted;
    }

    @Test
    void aTransformerIsAnEncoderAndADecoder() {
        Transformer transformer = Transformer.builder()
                .setEncoder(encoder())
                .setDecoder(decoder().optFinalNorm(true))
                .optEmbedding(embedding())
                .optOutput(OutputOptions.builder().optTied(true).build())
                .build();
        NDArray source = manager.create(new long[] {3, 1, 2, 6, 6, 0, 0, 5}, new Shape(2, 4));
        NDArray lens = manager.create(new int[] {4, 2});
        transformer.initialize(manager, DataType.FLOAT32, ids.getShape(), source.getShape());
        BlockList children = transformer.getChildren();
        assertEquals(List.of("embedding", "decoder_embedding", "encoder", "decoder", "output"), children.keys());
        assertEquals(List.of("weight"), children.get("decoder_embedding").getParameters().keys());
        NDArray memory = forward(children.get("encoder"), forward(children.get("embedding"), source), lens);
        NDArray rows =
                forward(children.get("decoder"), forward(children.get("decoder_embedding"), ids), memory, lens);
        NDArray expected = forward(children.get("output"), rows);
        NDArray found = forward(transformer, ids, source, lens);
        assertEquals(new Shape(2, 3, 7), found.getShape());
        near(expected, found);
        assertArrayEquals(
                new Shape[] {found.getShape()},
                transformer.getOutputShapes(new Shape[] {ids.getShape(), source.getShape(), new Shape(2)}));
        near(memory, forward(transformer, new AttentionInputs().setKeys(source).setValidLens(lens)));

        KvCache cache = KvCache.builder().setBlock(transformer).optMaxSequences(2).setCapacity(4).build(manager);
        AttentionInputs inputs = new AttentionInputs().setKeys(source).setValidLens(lens).setCache(cache);
        transformer.fillCache(inputs, null);
        near(found, forward(transformer, new AttentionInputs().setQueries(ids).setMemoryCache(cache)));

        // From the encoder's output.
        KvCache again = KvCache.builder().setBlock(transformer).optMaxSequences(2).setCapacity(4).build(manager);
        inputs = new AttentionInputs().setMemory(memory).setValidLens(lens).setCache(again);
        try (Workspace workspace = manager.newWorkspace(transformer.workspaceSize(inputs, new AttentionOutputs()))) {
            transformer.fillCache(inputs, workspace);
        }
        near(cache.read(1, 1).head(), again.read(1, 1).head());

        // The decoder alone stores the same rows.
        TransformerDecoder part = (TransformerDecoder) children.get("decoder");
        KvCache own = KvCache.builder().setBlock(part).optMaxSequences(2).setCapacity(4).build(manager);
        part.fillCache(new AttentionInputs().setKeys(memory).setQueryLens(lens).setCache(own), null);
        near(found, forward(transformer, new AttentionInputs().setQueries(ids).setMemoryCache(own)));
        TransformerDecoderBlock layer = (TransformerDecoderBlock) part.getChildren().get("layers.1");
        KvCache ofLayer = KvCache.builder().setBlock(layer).optMaxSequences(2).setCapacity(4).build(manager);
        layer.fillCache(new AttentionInputs().setKeys(memory).setQueryLens(lens).setCache(ofLayer), null);
        near(own.read(1, 0).head(), ofLayer.read(0, 0).head());

        assertTrue(transformer.toString().startsWith("Transformer(encoder=TransformerEncoder(numLayers=2, "));
        says("inputs has 1 array, expected 2 or 3: decoderInput, encoderInput and, optional, validLens", () -> forward(
                transformer, ids));
        says("queries is FLOAT32, expected INT32 or INT64: the ids of an embedding", () -> forward(
                transformer, x, source));
    }

    @Test
    void aTransformerOfRows() {
        Transformer transformer = Transformer.builder().setEncoder(encoder()).setDecoder(decoder()).build();
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT16}) {
            transformer.clear();
            transformer.initialize(manager, type, x.getShape(), x.getShape());
            NDArray rows = x.toType(type, false);
            assertEquals(type, forward(transformer, rows, rows).getDataType());
        }
    }

    /** The memory has another type than the ids. */
    @Test
    void aDecoderOfIdsWithAMemory() {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT16}) {
            TransformerDecoder stack = decoder().optEmbedding(embedding()).build();
            stack.initialize(manager, type, ids.getShape(), x.getShape());
            assertEquals(type, forward(stack, ids, x.toType(type, false)).getDataType());
            stack.initialize(manager, type, ids.getShape(), x.getShape());
        }
    }

    @Test
    void options() {
        says("encoder is null, expected an object", () -> Transformer.builder().setDecoder(decoder()).build());
        says("decoder is null, expected an object", () -> Transformer.builder().setEncoder(encoder()).build());
        says(
                "numTokenTypes is 2, but embedding is null: expected both, since token types are added to rows of ids",
                () -> encoder().optNumTokenTypes(2).build());
        says("size is 0, expected at least 1", () -> encoder().optOutput(OutputOptions.builder().build()).build());
        says(
                "tied is true, but embedding is null: expected the embedding whose table projects the output",
                () -> encoder().optOutput(OutputOptions.builder().optTied(true).build()).build());
        says("softCap is -1, expected a finite number of at least 0", () -> encoder()
                .optOutput(OutputOptions.builder().setSize(2).optSoftCap(-1).build()).build());
        says("numEmbeddings is 0, expected 1 to 2147483647", () -> encoder().optEmbedding(Embedding.builder()).build());
        assertThrows(IllegalArgumentException.class, () -> encoderBlock().optOutputNorms(true).build());
        assertThrows(IllegalArgumentException.class, () -> encoderBlock().optNoFirstNorm(true).build());
        assertThrows(IllegalArgumentException.class, () -> encoderBlock().optResidualScale(Float.NaN).build());
        assertThrows(NullPointerException.class, () -> Transformer.builder().setEncoder(null));
        assertThrows(NullPointerException.class, () -> Transformer.builder().setDecoder(null));
        OutputOptions output = OutputOptions.builder().setSize(4).optTied(true).optBias(true).optScale(2).optSoftCap(3)
                .build();
        assertEquals(4, output.getSize());
        assertTrue(output.isTied());
        assertTrue(output.isBias());
        assertEquals(2, output.getScale());
        assertEquals(3, output.getSoftCap());
    }

    @Test
    void blocksOneAfterAnother() {
        Linear linear = Linear.builder().setUnits(4).build();
        SequentialBlock block = new SequentialBlock()
                .add(Embedding.builder().setNumEmbeddings(7).setEmbeddingSize(SIZE).build())
                .addAll(encoderBlock().build(), linear);
        assertFalse(block.isInitialized());
        block.initialize(manager, DataType.FLOAT32, ids.getShape());
        assertEquals(List.of("01Embedding", "02TransformerEncoderBlock", "03Linear"), block.getChildren().keys());
        NDArray expected = ids;
        for (Block child : block.getChildren().values()) {
            expected = forward(child, expected);
        }
        assertArrayEquals(expected.toFloatArray(), forward(block, ids).toFloatArray());
        assertArrayEquals(new Shape[] {new Shape(2, 3, 4)}, block.getOutputShapes(new Shape[] {ids.getShape()}));
        assertEquals(1 + 16 + 2, block.getParameters().size());
        assertEquals("[(2, 3)]", Arrays.toString(block.getInputShapes()));
        NDList same = new NDList(ids);
        assertSame(same, new SequentialBlock().forward(new ParameterStore(), same, false));
        says("block is, or has inside, the block that it is added to", () -> block.add(block));
        assertThrows(NullPointerException.class, () -> block.add(null));
        assertThrows(NullPointerException.class, () -> block.addAll((Block[]) null));
        block.close();
        assertThrows(IllegalStateException.class, () -> forward(linear, x));
    }

    private static void says(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(IllegalArgumentException.class, call).getMessage());
    }
}
