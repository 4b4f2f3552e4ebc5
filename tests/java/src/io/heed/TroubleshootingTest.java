// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The messages in docs/java.md, "Troubleshooting", are heed's messages. */
class TroubleshootingTest {
    /**
     * Messages of Java itself; of the loader, whose tests cause them in new processes; and of an NPU, which
     * AscendArraysTest and AscendBlocksTest cause.
     */
    private static final List<String> OTHERS = List.of(
            "NoClassDefFoundError: io/heed/...",
            "UnsupportedClassVersionError",
            "A restricted method in java.lang.System has been called",
            "heed's native library for ... could not be loaded; tried: ...",
            "... there is none for linux-riscv64",
            "... failed to map segment from shared object",
            "... No space left on device",
            "... Read-only file system",
            "... AccessDeniedException",
            "... is cut short: its last ... bytes are missing",
            "the jar is damaged at ...",
            "the system property heed.native.path, which is ...: Can't load library",
            "the library is version ..., but these Java classes are of version ...",
            "FLOAT32, and the Ascend device computes in 16 bits",
            "keys is on device cpu:0, but the block is on ascend:0",
            "toFloatBuffer needs an array on the CPU",
            "wrap needs a manager for cpu()");

    private final List<Throwable> provoked = new ArrayList<>();

    @Test
    void messagesOfThePageAreThoseOfHeed() throws IOException {
        provokeAll();
        List<String> messages = messagesOfThePage();
        assertTrue(messages.containsAll(OTHERS), "the page lacks one of " + OTHERS);
        Set<String> unknown = new LinkedHashSet<>(messages);
        unknown.removeAll(OTHERS);
        unknown.removeIf(message -> provoked.stream()
                .anyMatch(error -> patternOf(message).matcher(error.toString()).find()));
        assertEquals(Set.of(), unknown, "no call gives these; the calls gave " + provoked);
    }

    /** Three dots in a message match anything. */
    private static Pattern patternOf(String message) {
        return Pattern.compile(
                Arrays.stream(message.split("\\.\\.\\.", -1)).map(Pattern::quote).collect(Collectors.joining(".*")));
    }

    /** The code in the first column of the table. */
    private static List<String> messagesOfThePage() throws IOException {
        String page = Files.readString(Path.of(System.getProperty("heed.golden"), "../../../docs/java.md"));
        String section = page.substring(page.indexOf("## Troubleshooting"));
        List<String> messages = new ArrayList<>();
        Matcher row = Pattern.compile("^\\| (`.*?`) \\| ", Pattern.MULTILINE).matcher(section);
        while (row.find()) {
            messages.addAll(Arrays.asList(row.group(1).replaceAll("^`|`$", "").split("`, `")));
        }
        return messages;
    }

    private void provoke(Executable call) {
        provoked.add(assertThrows(Throwable.class, call));
    }

    private void provokeAll() {
        try (NDManager manager = NDManager.newBaseManager()) {
            provokeWithArrays(manager);
            provokeWithBlocks(manager);
            provokeWithEncoders(manager);
            provokeWithThreads(manager);
            provokeWithFiles(manager);
        }
    }

    private void provokeWithArrays(NDManager manager) {
        NDArray closed = manager.ones(new Shape(2));
        closed.close();
        provoke(closed::toFloatArray);
        provoke(() -> new NDList(manager.ones(new Shape(2)), closed).getShapes());
        NDManager closedManager = manager.newSubManager();
        closedManager.close();
        provoke(() -> closedManager.ones(new Shape(2)));
        provoke(() -> manager.wrap(FloatBuffer.allocate(6), new Shape(2, 3)));
        provoke(() -> manager.wrap(ByteBuffer.allocateDirect(24).asFloatBuffer(), new Shape(2, 3)));
        provoke(() -> manager.ones(new Shape(2, 3)).transpose().toFloatBuffer());
        provoke(() -> manager.create(new float[5], new Shape(2, 3)));
        provoke(() -> manager.zeros(new Shape(1L << 40)));
        provoke(() -> NDManager.newBaseManager(Device.ascend(0)));
    }

    private void provokeWithBlocks(NDManager manager) {
        NDArray queries = manager.ones(new Shape(2, 4, 100));
        NDArray keys = manager.ones(new Shape(2, 6, 100));
        MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, false);
        provoke(() -> forward(attention, queries, keys, keys));
        attention.initialize(manager, DataType.FLOAT32, queries.getShape(), keys.getShape(), keys.getShape());
        provoke(() -> forward(attention, queries));
        NDArray closed = manager.ones(new Shape(2, 6, 100));
        closed.close();
        provoke(() -> forward(attention, queries, closed, keys));
        provoke(() -> new AttentionInputs().setMask(manager.ones(new Shape(4, 6))));
        provoke(() -> forward(attention, manager.ones(new Shape(4, 100)), keys, keys));
        provoke(() -> forward(attention, manager.ones(new Shape(2, 4, 99)), keys, keys));
        provoke(() -> forward(attention, manager.ones(new Shape(2, 4, 100), DataType.FLOAT64), keys, keys));
        provoke(() -> forward(attention, queries, keys, keys, manager.create(new float[][] {{3}, {2}})));
        provoke(() -> forward(attention, queries, keys, keys, manager.zeros(new Shape(2, 6), DataType.BOOLEAN)));
        provoke(() -> new MultiHeadAttention(100, 3, 0, false));
        provoke(() -> attention.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(new byte[9]))));
        provoke(() -> attention.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(new byte[2]))));
        Scaled scaled = new Scaled();
        scaled.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        provoke(() -> scaled.initialize(manager, DataType.FLOAT32, new Shape(2, 6)));

        AttentionInputs inputs = new AttentionInputs().setQueries(queries).setKeys(keys);
        AttentionOutputs outputs = attention.createOutputs(inputs);
        provoke(() -> attention.forward(inputs, outputs, manager.newWorkspace(8)));
        inputs.setMask(manager.ones(new Shape(2, 4, 6), DataType.BOOLEAN));
        provoke(() -> attention.forward(inputs, outputs, null));

        KvCache cache = KvCache.builder()
                .setNumKvHeads(5)
                .setHeadSize(20)
                .setCapacity(64)
                .optLayout(CacheLayout.PAGED)
                .optPageSize(16)
                .optNumPages(1)
                .build(manager);
        provoke(() -> cache.reserve(0, 33));
        cache.close();
        provoke(() -> cache.length(0));
        provoke(() -> attention.createOutputs(new AttentionInputs().setQueries(queries).setCacheLayer(1)));

        MultiHeadAttention orphan = new MultiHeadAttention(100, 5, 0, false);
        try (NDManager shortLived = manager.newSubManager()) {
            orphan.initialize(shortLived, DataType.FLOAT32, queries.getShape(), keys.getShape(), keys.getShape());
        }
        provoke(() -> forward(orphan, queries, keys, keys));
    }

    private void provokeWithEncoders(NDManager manager) {
        NDArray x = manager.ones(new Shape(1, 3, TransformerScene.SIZE));
        TransformerEncoderBlock encoder = TransformerScene.encoderBlock().build();
        provoke(() -> encoder.getChildren().get("norm_1").cast(DataType.FLOAT16));
        provoke(() -> TransformerScene.forward(encoder, x, x, x));
        TransformerDecoder decoder = TransformerDecoder.builder()
                .setLayer(TransformerScene.decoderBlock())
                .setNumLayers(1)
                .build();
        NDArray mask = manager.ones(new Shape(3, 3), DataType.BOOLEAN);
        provoke(() -> decoder.createOutputs(new AttentionInputs().setQueries(x).setMask(mask)));
    }

    /** Two threads use the workspace until one is refused because the other is using it. */
    private void provokeWithThreads(NDManager manager) {
        MultiHeadAttention attention = MultiHeadAttention.builder().setNumHiddens(64).setNumHeads(4).build();
        AttentionInputs inputs = new AttentionInputs().setQueries(manager.ones(new Shape(1, 256, 64)));
        Shape shape = inputs.getQueries().getShape();
        attention.initialize(manager, DataType.FLOAT32, shape, shape, shape);
        AttentionOutputs first = attention.createOutputs(inputs);
        AttentionOutputs second = attention.createOutputs(inputs);
        Workspace workspace = manager.newWorkspace(attention.workspaceSize(inputs, first));
        ConcurrentLinkedQueue<Throwable> errors = new ConcurrentLinkedQueue<>();
        Thread other = new Thread(() -> forwardUntilRefused(attention, inputs, first, workspace, errors));
        other.start();
        forwardUntilRefused(attention, inputs, second, workspace, errors);
        assertDoesNotThrow(() -> other.join());
        provoked.addAll(errors);
    }

    private static void forwardUntilRefused(
            MultiHeadAttention attention,
            AttentionInputs inputs,
            AttentionOutputs outputs,
            Workspace workspace,
            ConcurrentLinkedQueue<Throwable> errors) {
        while (errors.isEmpty()) {
            try {
                attention.forward(inputs, outputs, workspace);
            } catch (IllegalStateException error) {
                errors.add(error);
            }
        }
    }

    /** A block with a factor for each column of its input. */
    private static final class Scaled extends AbstractBlock {
        private final Parameter factors = addParameter(Parameter.builder()
                .setName("factors")
                .setType(Parameter.Type.GAMMA)
                .build());

        @Override
        protected void prepare(Shape[] inputShapes) {
            factors.setShape(new Shape(inputShapes[0].tail()));
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            return inputs;
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    private void provokeWithFiles(NDManager manager) {
        MultiHeadAttention.Builder pytorch = MultiHeadAttention.builder().setNumHiddens(12).setNumHeads(3);
        Path file = TestFiles.golden("weights/pytorch");
        provoke(() -> pytorch.optBias(false).build().load(file));
        provoke(() -> pytorch.optBias(true).build().load(file, "encoder"));
        provoke(() -> new MultiHeadAttention(100, 5, 0, true).load(TestFiles.golden("d2l"), "attention"));
    }

    private static void forward(MultiHeadAttention attention, NDArray... inputs) {
        attention.forward(new ParameterStore(inputs[0].getManager(), false), new NDList(inputs), false);
    }
}
