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
import java.nio.file.Path;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Blocks on an NPU. Their results are compared with the CPU's, within the bounds of 16 bits. */
class AscendBlocksTest {
    private static final ContextOptions STRICT =
            ContextOptions.builder().optStrict(true).optAllowReducedPrecision(true).build();
    private static final int HEADS = 4;
    private static final int SIZE = 32;
    private static final Shape QUERIES = new Shape(2, 5, SIZE);
    private static final Shape KEYS = new Shape(2, 7, SIZE);
    private static final int[] LENS = {7, 3};

    @TempDir
    Path folder;

    private final NDManager host = NDManager.newBaseManager();
    private final ParameterStore store = new ParameterStore(host, false);

    @AfterEach
    void nothingIsLeft() throws InterruptedException {
        host.close();
        Simulator.assertNothingIsLeft();
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT16", "BFLOAT16"})
    void multiHeadAttention(DataType type) {
        try (NDManager npu = NDManager.newBaseManager(Device.ascend(), STRICT);
                MultiHeadAttention attention = new MultiHeadAttention(SIZE, HEADS, 0.5f, false)) {
            NDArray queries = npu.randomNormal(0, 0.25f, QUERIES, type);
            NDArray keys = npu.randomNormal(0, 0.25f, KEYS, type);
            NDArray values = npu.randomNormal(KEYS, type);
            NDList inputs = new NDList(queries, keys, values, npu.create(LENS));
            attention.initialize(npu, type, inputs.getShapes());
            long before = Simulator.count("execute:SelfAttentionOperation");
            NDArray result = attention.forward(store, inputs, false).singletonOrThrow();

            assertEquals(QUERIES, result.getShape());
            assertEquals(type, result.getDataType());
            assertEquals(Device.ascend(), result.getDevice());
            assertTrue(attention.explain(inputs).contains("\"backend\": \"ascend\""), attention.explain(inputs));
            SixteenBits expected = new SixteenBits(attention, HEADS, queries, keys, values, LENS);
            SixteenBits.assertWithin(expected.output, expected.outputBound, result.toFloatArray());
            SixteenBits.assertBoundsAreSmall(expected.output, expected.outputBound);
            SixteenBits.assertBoundsAreSmall(expected.weights, expected.weightsBound);
            NDArray weights = attention.attention.attentionWeights;
            assertEquals(new Shape(2 * HEADS, 5, 7), weights.getShape());
            assertEquals(Device.ascend(), weights.getDevice());
            SixteenBits.assertWithin(expected.weights, expected.weightsBound, weights.toFloatArray());
            assertTrue(Simulator.count("execute:SelfAttentionOperation") > before || before == 0, "not on the NPU");

            // The same on the CPU with the same parameters.
            try (MultiHeadAttention same = new MultiHeadAttention(SIZE, HEADS, 0.5f, false)) {
                for (Pair<String, Parameter> parameter : attention.getParameters()) {
                    same.getParameters()
                            .get(parameter.getKey())
                            .setArray(parameter.getValue().getArray().toDevice(Device.cpu(), false));
                }
                NDArray there = same.forward(store, inputs.toDevice(Device.cpu(), false), false)
                        .head();
                assertEquals(Device.cpu(), there.getDevice());
                double[] bound = expected.outputBound;
                float[] elements = there.toFloatArray();
                float[] onTheNpu = result.toFloatArray();
                for (int i = 0; i < bound.length; i++) {
                    assertEquals(elements[i], onTheNpu[i], 2 * bound[i]);
                }
            }
        }
    }

    @Test
    void floatsAreRefusedUnlessTheyMayBeNarrowed() {
        try (NDManager npu = NDManager.newBaseManager(Device.ascend());
                MultiHeadAttention attention = new MultiHeadAttention(SIZE, HEADS, 0, false)) {
            attention.initialize(npu, DataType.FLOAT32, QUERIES, KEYS, KEYS);
            NDList inputs = new NDList(npu.ones(QUERIES), npu.ones(KEYS), npu.ones(KEYS));
            String sentence = assertThrows(
                            UnsupportedOperationException.class, () -> attention.forward(store, inputs, false))
                    .getMessage();
            assertTrue(sentence.contains("FLOAT32, and the Ascend device computes in 16 bits"), sentence);
            assertTrue(sentence.contains("allowReducedPrecision"), sentence);
        }
    }

    @Test
    void arraysOfTwoDevicesAreNamed() {
        try (NDManager npu = NDManager.newBaseManager(Device.ascend(), STRICT);
                MultiHeadAttention attention = new MultiHeadAttention(SIZE, HEADS, 0, false)) {
            attention.initialize(npu, DataType.FLOAT16, QUERIES, KEYS, KEYS);
            NDArray x = npu.ones(QUERIES, DataType.FLOAT16);
            NDArray y = npu.ones(KEYS, DataType.FLOAT16);
            NDArray here = host.ones(KEYS, DataType.FLOAT16);
            for (NDList inputs : new NDList[] {
                new NDList(x, here, y), new NDList(x, y, here), new NDList(x, y, y, host.create(LENS))
            }) {
                String sentence = assertThrows(
                                IllegalArgumentException.class, () -> attention.forward(store, inputs, false))
                        .getMessage();
                assertTrue(sentence.contains("ascend:0") && sentence.contains("cpu:0"), sentence);
            }
            NDArray wrong = host.ones(QUERIES, DataType.FLOAT16);
            assertThrows(
                    IllegalArgumentException.class, () -> attention.forward(store, new NDList(wrong, y, y), false));
            NDArray factor = host.ones(new Shape(2, SIZE, 1), DataType.FLOAT16);
            assertTrue(assertThrows(IllegalArgumentException.class, () -> x.batchDot(factor))
                    .getMessage()
                    .contains("ascend:0"));
        }
    }

    @Test
    void aLoadedBlockGoesToItsInputs() throws Exception {
        Path file = TestFiles.golden("d2l");
        NDManager npu = NDManager.newBaseManager(Device.ascend(), STRICT);
        try (MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0.5f, false)) {
            attention.load(file, "attention");
            NDArray before = attention.getParameters().get("W_q.weight").getArray();
            assertEquals(Device.cpu(), before.getDevice());
            NDArray queries = npu.load(file, "queries");
            assertEquals(Device.ascend(), queries.getDevice());
            NDArray keys = npu.load(file, "keys");
            NDArray values = npu.load(file, "values");
            NDList inputs = new NDList(queries, keys, values, npu.load(file, "valid_lens"));
            NDArray result = attention.forward(store, inputs, false).head();
            int[] lens = new int[(int) queries.size(0)];
            float[] given = inputs.get(3).toType(DataType.FLOAT32, false).toFloatArray();
            for (int b = 0; b < lens.length; b++) {
                lens[b] = (int) given[b];
            }
            SixteenBits expected = new SixteenBits(attention, 5, queries, keys, values, lens);
            SixteenBits.assertWithin(expected.output, expected.outputBound, result.toFloatArray());

            NDArray weight = attention.getParameters().get("W_q.weight").getArray();
            assertEquals(Device.ascend(), weight.getDevice());
            assertArrayEquals(before.toFloatArray(), weight.toFloatArray());
            weight.set(new float[100 * 100]);
            assertArrayEquals(new float[100 * 100], weight.toFloatArray());
            before.close();

            attention.save(folder.resolve("saved.safetensors"));
            try (MultiHeadAttention again = new MultiHeadAttention(100, 5, 0.5f, false)) {
                again.load(folder.resolve("saved.safetensors"));
                assertArrayEquals(
                        new float[100 * 100], again.getParameters().get("W_q.weight").getArray().toFloatArray());
            }
            // The parameters belong to the block, and stay on their device.
            npu.close();
            assertTrue(attention.isInitialized());
        }
    }

    @Test
    void parametersAreSavedAndLoadedOnTheDevice() throws Exception {
        try (NDManager npu = NDManager.newBaseManager(Device.ascend(), STRICT);
                MultiHeadAttention attention = new MultiHeadAttention(SIZE, HEADS, 0, true);
                MultiHeadAttention other = new MultiHeadAttention(SIZE, HEADS, 0, true)) {
            attention.initialize(npu, DataType.FLOAT16, QUERIES, KEYS, KEYS);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            attention.saveParameters(new DataOutputStream(bytes));
            other.loadParameters(npu, new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())));
            for (Pair<String, Parameter> parameter : attention.getParameters()) {
                NDArray loaded = other.getParameters().get(parameter.getKey()).getArray();
                assertEquals(Device.ascend(), loaded.getDevice());
                assertTrue(parameter.getValue().getArray().contentEquals(loaded), parameter.getKey());
            }
            other.cast(DataType.BFLOAT16);
            assertEquals(
                    DataType.BFLOAT16, other.getParameters().get("W_q.bias").getArray().getDataType());
            attention.clear();
            assertFalse(attention.isInitialized());
        }
    }

    @Test
    void theReusedForm() {
        try (NDManager npu = NDManager.newBaseManager(Device.ascend(), STRICT);
                DotProductAttention attention = DotProductAttention.builder().build()) {
            AttentionInputs inputs = new AttentionInputs()
                    .setQueries(npu.randomNormal(new Shape(2, 5, 16), DataType.FLOAT16))
                    .setKeys(npu.randomNormal(new Shape(2, 7, 16), DataType.FLOAT16))
                    .setMask(npu.ones(new Shape(5, 7), DataType.BOOLEAN));
            AttentionOutputs outputs =
                    attention.createOutputs(inputs, Wanted.OUTPUT, Wanted.WEIGHTS, Wanted.LOG_SUM_EXP);
            try (Workspace workspace = npu.newWorkspace(attention.workspaceSize(inputs, outputs))) {
                attention.forward(inputs, outputs, workspace);
                float[] first = outputs.getOutput().toFloatArray();
                attention.forward(inputs, outputs, workspace);
                assertArrayEquals(first, outputs.getOutput().toFloatArray());
            }
            float sum = 0;
            for (float weight : outputs.getWeights().get(1, 4).toFloatArray()) {
                sum += weight;
            }
            // Seven weights, each rounded to 11 bits.
            assertEquals(1, sum, Math.scalb(1.0, -11));
            assertEquals(DataType.FLOAT32, outputs.getLogSumExp().getDataType());
            // A block without parameters runs where its inputs are.
            NDArray x = host.ones(new Shape(1, 2, 4));
            assertEquals(
                    Device.cpu(),
                    attention.forward(store, new NDList(x, x, x), false).head().getDevice());
            assertArrayEquals(
                    outputs.getOutput().toFloatArray(),
                    attention
                            .forward(store, new NDList(inputs.getQueries(), inputs.getKeys(), inputs.getKeys()), false)
                            .head()
                            .toFloatArray());
        }
    }

    /** The CPU computes what the NPU cannot, and explain gives the reason. A strict manager refuses it. */
    @Test
    void whatTheCpuDoesInTheDevicesPlace() {
        ContextOptions lenient = ContextOptions.builder().optAllowReducedPrecision(true).build();
        try (NDManager npu = NDManager.newBaseManager(Device.ascend(), lenient);
                NDManager strict = NDManager.newBaseManager(Device.ascend(), STRICT)) {
            for (NDManager manager : new NDManager[] {npu, strict}) {
                try (DotProductAttention capped =
                        DotProductAttention.builder().optSoftCap(5).build()) {
                    NDArray x = manager.ones(new Shape(1, 3, 8), DataType.FLOAT16);
                    NDList inputs = new NDList(x, x, x);
                    assertTrue(capped.explain(inputs).contains("soft cap"), capped.explain(inputs));
                    if (manager == strict) {
                        HeedException error =
                                assertThrows(HeedException.class, () -> capped.forward(store, inputs, false));
                        assertEquals(Status.NOT_FASTEST, error.getStatus());
                        assertTrue(error.getMessage().contains("soft cap"), error.getMessage());
                    } else {
                        NDArray result = capped.forward(store, inputs, false).head();
                        assertEquals(Device.ascend(), result.getDevice());
                        assertArrayEquals(x.toFloatArray(), result.toFloatArray());
                    }
                }
            }
        }
    }
}
