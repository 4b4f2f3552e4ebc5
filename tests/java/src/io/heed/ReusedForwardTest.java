// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;

import com.sun.management.ThreadMXBean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Forwards into existing arrays. */
class ReusedForwardTest {
    private NDManager manager;
    private MultiHeadAttention attention;
    private AttentionInputs inputs;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        attention = new MultiHeadAttention(100, 5, 0.5f, false);
        NDArray x = manager.randomNormal(new Shape(2, 4, 100));
        NDArray y = manager.randomNormal(new Shape(2, 6, 100));
        NDArray validLens = manager.create(new int[] {3, 2});
        attention.initialize(manager, DataType.FLOAT32, x.getShape(), y.getShape(), y.getShape());
        inputs = new AttentionInputs().setQueries(x).setKeys(y).setValues(y).setValidLens(validLens);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** Including training calls with dropout, each of which draws a seed. */
    @Test
    void allocatesNothing() {
        MultiHeadAttention small = new MultiHeadAttention(4, 2, 0.5f, true);
        NDArray x = manager.ones(new Shape(1, 2, 4));
        small.initialize(manager, DataType.FLOAT32, x.getShape(), x.getShape(), x.getShape());
        AttentionInputs given = new AttentionInputs().setQueries(x).setValidLens(manager.create(new int[] {1}));
        AttentionOutputs outputs = small.createOutputs(given, Wanted.OUTPUT, Wanted.WEIGHTS, Wanted.LOG_SUM_EXP);
        assertAllocatesNothing(small, given, outputs);
        assertAllocatesNothing(small, given.setTraining(true), outputs);
    }

    @Test
    void packedCallsAllocateNothing() {
        NDArray x = manager.ones(new Shape(3, 4));
        AttentionInputs packed = new AttentionInputs()
                .setQueries(x)
                .setQueryOffsets(manager.create(new int[] {0, 1, 3}))
                .setPositions(manager.create(new long[] {4, 0, 1}));
        MultiHeadAttention small = MultiHeadAttention.builder()
                .setNumHiddens(4)
                .setNumHeads(2)
                .optRope(Rope.builder().setLayout(RopeLayout.HALF).build())
                .optSinks(true)
                .build();
        Shape shape = new Shape(1, 3, 4);
        small.initialize(manager, DataType.FLOAT32, shape, shape, shape);
        assertAllocatesNothing(small, packed, small.createOutputs(packed, Wanted.OUTPUT, Wanted.LOG_SUM_EXP));
        PositionalEncoding encoding = new PositionalEncoding(4, 0, 5, manager);
        assertAllocatesNothing(encoding, packed, encoding.createOutputs(packed));
    }

    @Test
    void encodersAndTheirChildrenAllocateNothing() {
        NDArray x = manager.ones(new Shape(1, 2, TransformerScene.SIZE));
        TransformerEncoderBlock encoder = TransformerScene.encoderBlock().build();
        encoder.initialize(manager, DataType.FLOAT32, x.getShape());
        AttentionInputs given = new AttentionInputs().setQueries(x);
        assertAllocatesNothing(encoder, given, encoder.createOutputs(given));
        NativeBlock network = (NativeBlock) encoder.getChildren().get("feed_forward");
        assertAllocatesNothing(network, given, network.createOutputs(given));
    }

    /** Their inputs are compared with the context that the model was loaded in. */
    @Test
    @Tag("cpu")
    void modelsAllocateNothing() {
        try (Model model = Model.newInstance("gpt2")) {
            model.load(TestFiles.data("models/gpt2"));
            AttentionInputs given = new AttentionInputs().setQueries(manager.ones(new Shape(1, 2), DataType.INT32));
            ModelBlock block = model.getBlock();
            assertAllocatesNothing(block, given, block.createOutputs(given));
        }
    }

    private void assertAllocatesNothing(NativeBlock block, AttentionInputs given, AttentionOutputs outputs) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long self = Thread.currentThread().getId();
        try (Workspace workspace = manager.newWorkspace(block.workspaceSize(given, outputs))) {
            long fewest = Long.MAX_VALUE;
            // The first round warms up: the virtual machine does its one-time work.
            for (int round = 0; round < 3; round++) {
                long before = threads.getThreadAllocatedBytes(self);
                for (int i = 0; i < 10_000; i++) {
                    block.forward(given, outputs, workspace);
                }
                fewest = Math.min(fewest, threads.getThreadAllocatedBytes(self) - before);
            }
            assertEquals(0, fewest);
        }
    }

    @Test
    void givesTheSameAsForwardOfAList() {
        NDList list = new NDList(
                inputs.getQueries(), inputs.getKeys(), inputs.getValues(), inputs.getValidLens());
        NDArray expected = attention.forward(new ParameterStore(), list, false).head();
        AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.WEIGHTS, Wanted.OUTPUT);
        assertNull(outputs.getLogSumExp());
        assertSame(manager, outputs.getOutput().getManager());
        assertEquals(new Shape(2, 5, 4, 6), outputs.getWeights().getShape());
        attention.forward(inputs, outputs, null);
        assertArrayEquals(expected.toFloatArray(), outputs.getOutput().toFloatArray());
        assertArrayEquals(
                attention.attention.attentionWeights.toFloatArray(), outputs.getWeights().toFloatArray());

        AttentionOutputs alone = attention.createOutputs(inputs);
        assertNotNull(alone.getOutput());
        assertNull(alone.getWeights());
        NDArray logSumExp = attention.createOutputs(inputs, Wanted.LOG_SUM_EXP).getLogSumExp();
        assertEquals(new Shape(2, 5, 4), logSumExp.getShape());
        attention.forward(inputs, new AttentionOutputs().setLogSumExp(logSumExp), null);
        assertTrue(Float.isFinite(logSumExp.getFloat(0, 0, 0)));
        outputs.close();
        assertTrue(outputs.getOutput().isReleased());
        assertTrue(outputs.getWeights().isReleased());
    }

    @Test
    void dropoutDiffersInEachForwardUnlessItsSeedIsSet() {
        AttentionOutputs outputs = attention.createOutputs(inputs);
        inputs.setTraining(true);
        attention.setSeed(5);
        float[] first = forward(outputs);
        assertFalse(Arrays.equals(first, forward(outputs)));
        attention.setSeed(5);
        assertArrayEquals(first, forward(outputs));
        inputs.setDropoutSeed(5);
        assertTrue(inputs.hasDropoutSeed());
        assertEquals(5, inputs.getDropoutSeed());
        assertArrayEquals(first, forward(outputs));
        assertArrayEquals(first, forward(outputs));
    }

    @Test
    void namesWhatIsWrong() {
        AttentionOutputs outputs = attention.createOutputs(inputs);
        long numBytes = attention.workspaceSize(inputs, outputs);
        assertTrue(numBytes > 0);
        try (Workspace small = manager.newWorkspace(numBytes - 1)) {
            HeedException error =
                    assertThrows(HeedException.class, () -> attention.forward(inputs, outputs, small));
            assertEquals(Status.WORKSPACE_TOO_SMALL, error.getStatus());
            assertTrue(error.getMessage().contains(String.valueOf(numBytes)), error.getMessage());
            assertTrue(error.getMessage().contains(String.valueOf(numBytes - 1)), error.getMessage());
        }
        refused("at least one", () -> attention.forward(inputs, new AttentionOutputs(), null));
        refused("queries", () -> attention.forward(new AttentionInputs(), outputs, null));
        refused("output has shape (2, 4, 99)", () -> attention.forward(
                inputs, new AttentionOutputs().setOutput(manager.ones(new Shape(2, 4, 99))), null));
        NDArray queries = inputs.getQueries();
        refused("shares memory", () -> attention.forward(inputs, new AttentionOutputs().setOutput(queries), null));
        Linear linear = Linear.builder().setUnits(6).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(6, 6));
        AttentionInputs input = new AttentionInputs().setQueries(manager.ones(new Shape(6, 6)));
        NDArray snapshot = linear.getParameters().get("weight").getArray();
        refused("read-only", () -> linear.forward(input, new AttentionOutputs().setOutput(snapshot), null));
        refused("Wanted.WEIGHTS", () -> linear.createOutputs(input, Wanted.WEIGHTS));

        for (String name : new String[] {"inputs", "outputs"}) {
            AttentionInputs givenInputs = name.equals("inputs") ? null : inputs;
            AttentionOutputs givenOutputs = name.equals("outputs") ? null : outputs;
            for (Executable use :
                    new Executable[] {
                        () -> attention.forward(givenInputs, givenOutputs, null),
                        () -> attention.workspaceSize(givenInputs, givenOutputs),
                        () -> attention.explain(givenInputs, givenOutputs)
                    }) {
                assertEquals(name, assertThrows(NullPointerException.class, use).getMessage());
            }
        }
        NullPointerException error =
                assertThrows(NullPointerException.class, () -> attention.createOutputs(new AttentionInputs()));
        assertEquals("queries", error.getMessage());
        assertThrows(NullPointerException.class, () -> attention.createOutputs(inputs, (Wanted) null));
    }

    @Test
    void useAfterClose() {
        AttentionOutputs outputs = attention.createOutputs(inputs);
        Workspace workspace = manager.newWorkspace(attention.workspaceSize(inputs, outputs));
        workspace.close();
        closed("the workspace is closed", () -> attention.forward(inputs, outputs, workspace));
        outputs.getOutput().close();
        closed("the array output is closed", () -> attention.forward(inputs, outputs, null));
        attention.close();
        String sentence = "the block, or the manager that it was initialized with, is closed";
        AttentionOutputs open = new AttentionOutputs().setOutput(manager.ones(new Shape(2, 4, 100)));
        closed(sentence, () -> attention.forward(inputs, open, null));
        closed(sentence, () -> attention.createOutputs(inputs));
        closed(sentence, () -> attention.workspaceSize(inputs, open));
        closed(sentence, () -> attention.explain(inputs, open));
    }

    /** Of two concurrent calls with one workspace one is refused, unless, very rarely, they do not overlap. */
    @Test
    void aWorkspaceIsForOneCallAtATime() throws Exception {
        AttentionOutputs outputs = attention.createOutputs(inputs);
        AttentionOutputs others = attention.createOutputs(inputs);
        try (Workspace workspace = manager.newWorkspace(attention.workspaceSize(inputs, outputs))) {
            CountDownLatch busy = new CountDownLatch(1);
            Throwable[] wrong = new Throwable[1];
            Thread other = new Thread(() -> {
                try {
                    for (int i = 0; i < 20_000 && busy.getCount() > 0; i++) {
                        runOrSeeBusy(others, workspace, busy);
                    }
                } catch (Throwable error) {
                    wrong[0] = error;
                    busy.countDown();
                }
            });
            other.start();
            for (int i = 0; i < 20_000 && busy.getCount() > 0; i++) {
                runOrSeeBusy(outputs, workspace, busy);
            }
            other.join();
            assertNull(wrong[0], () -> String.valueOf(wrong[0]));
        }
    }

    @Test
    void explainsAsJson() {
        NDList list = new NDList(inputs.getQueries(), inputs.getKeys(), inputs.getValues());
        for (String text : new String[] {
            attention.explain(list), attention.explain(inputs, attention.createOutputs(inputs))
        }) {
            assertTrue(text.startsWith("{") && text.endsWith("}"), text);
            assertTrue(text.contains("\"multi_head_attention\""), text);
            assertTrue(text.contains("\"kernel\""), text);
        }
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        assertTrue(linear.explain(new NDList(manager.ones(new Shape(2, 5)))).contains("\"linear\""));
        NDList two = new NDList(inputs.getKeys(), inputs.getKeys());
        refused("inputs has 2 arrays, expected 1", () -> linear.explain(two));
    }

    @Test
    void aMaskMustBeOfBooleans() {
        NDArray mask = manager.ones(new Shape(4, 6), DataType.BOOLEAN);
        AttentionInputs set = new AttentionInputs().setMask(mask);
        for (DataType type : DataType.values()) {
            if (type != DataType.BOOLEAN) {
                IllegalArgumentException error = assertThrows(
                        IllegalArgumentException.class, () -> set.setMask(manager.ones(new Shape(4, 6), type)));
                assertEquals(
                        "mask is of " + type.name() + ", expected BOOLEAN with true = may attend; "
                                + "setBias takes numbers that are added to the scores",
                        error.getMessage());
            }
        }
        assertSame(mask, set.getMask());
        assertNull(set.setMask(null).getMask());
    }

    @Test
    void closedInputsAndOutputsAreNamed() {
        NDArray open = inputs.getQueries();
        NDArray closed = manager.ones(new Shape(2, 4, 100));
        NDArray closedMask = manager.ones(new Shape(4, 6), DataType.BOOLEAN);
        closed.close();
        closedMask.close();
        AttentionOutputs outputs = attention.createOutputs(inputs);
        AttentionInputs all = new AttentionInputs().setQueries(open);
        for (Runnable use : new Runnable[] {
            () -> attention.forward(all, outputs, null),
            () -> attention.createOutputs(all),
            () -> attention.workspaceSize(all, outputs),
            () -> attention.explain(all, outputs),
            () -> DotProductAttention.scaledDotProductAttention(all, outputs, null)
        }) {
            closed("the array queries is closed", () -> use(all.setQueries(closed), use));
            all.setQueries(open);
            closed("the array keys is closed", () -> use(all.setKeys(closed), use));
            closed("the array values is closed", () -> use(all.setKeys(null).setValues(closed), use));
            closed("the array validLens is closed", () -> use(all.setValues(null).setValidLens(closed), use));
            closed("the array mask is closed", () -> use(all.setValidLens(null).setMask(closedMask), use));
            closed("the array bias is closed", () -> use(all.setMask(null).setBias(closed), use));
            closed("the array alibiSlopes is closed", () -> use(all.setBias(null).setAlibiSlopes(closed), use));
            closed("the array sinks is closed", () -> use(all.setAlibiSlopes(null).setSinks(closed), use));
            closed("the array positions is closed", () -> use(all.setSinks(null).setPositions(closed), use));
            closed("the array queryLens is closed", () -> use(all.setPositions(null).setQueryLens(closed), use));
            closed("the array queryOffsets is closed", () -> use(all.setQueryLens(null).setQueryOffsets(closed), use));
            closed("the array keyOffsets is closed", () -> use(all.setQueryOffsets(null).setKeyOffsets(closed), use));
            closed("the array keyPositions is closed", () -> use(all.setKeyOffsets(null).setKeyPositions(closed), use));
            closed("the array attentionMask is closed",
                    () -> use(all.setKeyPositions(null).setAttentionMask(closed), use));
            closed("the array selfAttentionMask is closed",
                    () -> use(all.setAttentionMask(null).setSelfAttentionMask(closed), use));
            closed("the array outputRows is closed",
                    () -> use(all.setSelfAttentionMask(null).setOutputRows(closed), use));
            all.setOutputRows(null);
        }
        AttentionOutputs written = new AttentionOutputs().setWeights(closed);
        closed("the array weights is closed", () -> attention.forward(inputs, written, null));
        written.setWeights(null).setLogSumExp(closed);
        closed("the array logSumExp is closed", () -> attention.workspaceSize(inputs, written));
        closed("the array logSumExp is closed", () -> attention.explain(inputs, written));

        ParameterStore store = new ParameterStore(manager, false);
        String[] names = {"queries", "keys", "values"};
        for (int i = 0; i < names.length; i++) {
            NDList list = new NDList(open, open, open);
            list.set(i, closed);
            closed("the array " + names[i] + " is closed", () -> attention.forward(store, list, false));
            closed("the array " + names[i] + " is closed", () -> attention.explain(list));
        }
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 4, 100));
        closed("the array input is closed", () -> linear.forward(store, new NDList(closed), false));
        closed("the array keys is closed",
                () -> DotProductAttention.scaledDotProductAttention(open, closed, open));
        closed("the array X is closed", () -> Chap10Utils.maskedSoftmax(closed, open));
        closed("the array validLens is closed", () -> Chap10Utils.maskedSoftmax(open, closed));
    }

    private static void use(AttentionInputs set, Runnable call) {
        call.run();
    }

    @Test
    void inputsAndOutputsReturnWhatWasSet() {
        NDArray x = inputs.getQueries();
        NDArray y = inputs.getKeys();
        NDArray mask = manager.ones(new Shape(4, 6), DataType.BOOLEAN);
        AttentionInputs all = new AttentionInputs()
                .setQueries(x)
                .setKeys(y)
                .setValues(x)
                .setValidLens(y)
                .setMask(mask)
                .setBias(y)
                .setAlibiSlopes(x)
                .setSinks(y)
                .setPositions(x)
                .setQueryLens(y)
                .setQueryOffsets(x)
                .setKeyOffsets(y)
                .setKeyPositions(x)
                .setAttentionMask(y)
                .setSelfAttentionMask(x)
                .setOutputRows(y)
                .setNumLastRows(3)
                .setTraining(true)
                .setDropoutSeed(-1);
        assertSame(x, all.getQueries());
        assertSame(y, all.getKeys());
        assertSame(x, all.getValues());
        assertSame(y, all.getValidLens());
        assertSame(mask, all.getMask());
        assertSame(y, all.getBias());
        assertSame(x, all.getAlibiSlopes());
        assertSame(y, all.getSinks());
        assertSame(x, all.getPositions());
        assertSame(y, all.getQueryLens());
        assertSame(x, all.getQueryOffsets());
        assertSame(y, all.getKeyOffsets());
        assertSame(x, all.getKeyPositions());
        assertSame(y, all.getAttentionMask());
        assertSame(x, all.getSelfAttentionMask());
        assertSame(y, all.getOutputRows());
        assertEquals(3, all.getNumLastRows());
        assertTrue(all.isTraining());
        assertSame(all, all.clear());
        assertNull(all.getQueries());
        assertNull(all.getKeys());
        assertNull(all.getValues());
        assertNull(all.getValidLens());
        assertNull(all.getMask());
        assertNull(all.getBias());
        assertNull(all.getAlibiSlopes());
        assertNull(all.getSinks());
        assertNull(all.getPositions());
        assertNull(all.getQueryLens());
        assertNull(all.getQueryOffsets());
        assertNull(all.getKeyOffsets());
        assertNull(all.getKeyPositions());
        assertNull(all.getAttentionMask());
        assertNull(all.getSelfAttentionMask());
        assertNull(all.getOutputRows());
        assertEquals(0, all.getNumLastRows());
        assertFalse(all.isTraining());
        assertFalse(all.hasDropoutSeed());
        assertEquals(0, all.getDropoutSeed());
        AttentionOutputs outputs = new AttentionOutputs().setOutput(x).setWeights(y).setLogSumExp(x);
        assertSame(x, outputs.getOutput());
        assertSame(y, outputs.getWeights());
        assertSame(x, outputs.getLogSumExp());
    }

    private void runOrSeeBusy(AttentionOutputs outputs, Workspace workspace, CountDownLatch busy) {
        try {
            attention.forward(inputs, outputs, workspace);
        } catch (IllegalStateException error) {
            assertTrue(error.getMessage().contains("workspace"), error.getMessage());
            busy.countDown();
        }
    }

    private float[] forward(AttentionOutputs outputs) {
        attention.forward(inputs, outputs, null);
        return outputs.getOutput().toFloatArray();
    }

    private static void refused(String words, Executable use) {
        String message = assertThrows(IllegalArgumentException.class, use).getMessage();
        assertTrue(message.contains(words), message);
    }

    private static void closed(String sentence, Executable use) {
        assertEquals(sentence, assertThrows(IllegalStateException.class, use).getMessage());
    }
}
