// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/**
 * Messages of C have Java's words. tests/bindings/check_words.py checks all of them; here some are compared as a whole.
 */
class ExceptionWordsTest {
    private NDManager manager;
    private NDArray queries;
    private NDArray keys;
    private MultiHeadAttention attention;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
        queries = manager.ones(new Shape(2, 4, 100));
        keys = manager.ones(new Shape(2, 6, 100));
        attention = new MultiHeadAttention(100, 5, 0, false);
    }

    @AfterEach
    void close() {
        attention.close();
        manager.close();
    }

    @Test
    void options() {
        says("numHeads is 0, expected at least 1", () -> new MultiHeadAttention(100, 0, 0, false));
        says(
                "numHiddens is 100, which numHeads, 3, does not divide: expected a multiple, or headSize above 0",
                () -> new MultiHeadAttention(100, 3, 0, false));
        says(
                "numHiddens is 0, expected above 0, or outputSize above 0, or outputProjection false",
                () -> MultiHeadAttention.builder().setNumHeads(2).optHeadSize(4).build());
        says(
                "numHeads is 4611686018427387904 and valueHeadSize 4, whose product overflows, expected at most 2^63 - 1",
                () -> MultiHeadAttention.builder().setNumHeads(1L << 62).optHeadSize(1).optValueHeadSize(4)
                        .optOutputProjection(false).build());
        says(
                "biases has Bias.O, but outputProjection is false: expected one or the other",
                () -> MultiHeadAttention.builder().setNumHiddens(8).setNumHeads(2).optOutputProjection(false)
                        .optBiases(Bias.O).build());
        says(
                "windowLeft is 1 and windowRight 2, but window is Window.NONE: name an alignment, or leave both at 0",
                () -> DotProductAttention.builder().optWindow(Window.NONE, 1, 2).build());
        says("softCap is NaN, expected a finite number above 0, or 0 for none", () -> DotProductAttention.builder()
                .optSoftCap(Float.NaN).build());
        says("units is 0, expected at least 1", () -> Linear.builder().build());
        says(
                "numThreads is 1025, expected 0 (as many as the process may use) to 1024",
                () -> NDManager.newBaseManager(Device.cpu(), ContextOptions.builder().optNumThreads(1025).build()));
    }

    @Test
    void arrays() {
        says("shape[1] is -1, expected at least 0", () -> manager.zeros(new Shape(2, -1)));
        says("the rank of shape is 9, expected 0 to 8", () -> manager.zeros(new Shape(1, 1, 1, 1, 1, 1, 1, 1, 1)));
        says("loc is NaN, expected a finite number", () -> manager.randomNormal(
                Float.NaN, 1, new Shape(2), DataType.FLOAT32));
        says("scale is -1, expected at least 0", () -> manager.randomNormal(0, -1, new Shape(2), DataType.FLOAT32));
        NDArray numbers = manager.ones(new Shape(100, 2), DataType.INT32);
        says(
                "the array is INT32, expected FLOAT32, FLOAT16, BFLOAT16 or FLOAT64: copy it into an array of one of these first",
                () -> numbers.softmax(0));
        says(
                "this array is BFLOAT16 and other is FLOAT16, which have no common data type: copy one of them into an array of "
                        + "FLOAT32 first",
                () -> keys.toType(DataType.BFLOAT16, false).matMul(manager.ones(new Shape(100, 2), DataType.FLOAT16)));
        says("X has shape (2, 3) of rank 2, expected rank 3, (B, Q, K), or rank 4, (B, H, Q, K)", () ->
                Chap10Utils.maskedSoftmax(manager.ones(new Shape(2, 3)), manager.create(new float[] {1, 2})));
    }

    @Test
    void blocks() {
        says(
                "the block is not initialized: W_q.weight is not set, expected initialize, load or Parameter.setArray first",
                () -> forward(queries, keys, keys));
        attention.initialize(manager, DataType.FLOAT32, queries.getShape(), keys.getShape(), keys.getShape());
        says("queries is FLOAT64, expected FLOAT32, FLOAT16 or BFLOAT16", () -> forward(
                queries.toType(DataType.FLOAT64, false), keys, keys));
        says("keys is FLOAT16, but queries is FLOAT32: expected the same data type", () -> forward(
                queries, keys.toType(DataType.FLOAT16, false), keys));
        says("values has shape (2, 4, 100), but keys has (2, 6, 100): expected the same number of keys, 6", () ->
                forward(queries, keys, queries));
        says("validLens has shape (2, 1), expected (2) for the batch or (2, 4) for batch and queries", () -> forward(
                queries, keys, keys, manager.create(new float[][] {{3}, {2}})));
        says(
                "mask has shape (4, 5), expected (4, 6) with ones where it is repeated",
                () -> attention.createOutputs(new AttentionInputs().setQueries(queries).setKeys(keys)
                        .setMask(manager.ones(new Shape(4, 5), DataType.BOOLEAN))));

        AttentionInputs inputs = new AttentionInputs().setQueries(queries).setKeys(keys);
        AttentionOutputs outputs = attention.createOutputs(inputs);
        says(
                "workspace has 8 bytes, but this call needs " + attention.workspaceSize(inputs, outputs)
                        + ": see workspaceSize",
                () -> attention.forward(inputs, outputs, manager.newWorkspace(8)));
        Linear linear = Linear.builder().setUnits(2).build();
        linear.initialize(manager, DataType.FLOAT32, queries.getShape());
        says(
                "wanted has Wanted.WEIGHTS, but a linear block has no such output, expected Wanted.OUTPUT alone",
                () -> linear.createOutputs(new AttentionInputs().setQueries(queries), Wanted.WEIGHTS));
    }

    @Test
    void aStrictManager() {
        try (NDManager strict = NDManager.newBaseManager(
                Device.cpu(), ContextOptions.builder().optStrict(true).build())) {
            NDArray columns = strict.ones(new Shape(2, 3)).transpose();
            says(
                    "the manager is strict, and \"softmax\" would not take the fastest path: the elements of the"
                            + " softmax's axis do not lie side by side (stride 1), so they are gathered",
                    () -> columns.softmax(1));
        }
    }

    @Test
    void namesOfOthersStay(@TempDir Path folder) {
        Path file = TestFiles.write(folder.resolve("HEED_F32"), "{}");
        String shown = "\"" + file + "\"";
        says(shown + " has no tensor \"options->num_heads, NULL\" (it has 0)", () -> manager.load(
                file, "options->num_heads, NULL"));
        says(shown + " has no tensor \"a\\x22 dims \\x22b\" (it has 0)", () -> manager.load(file, "a\" dims \"b"));
        says(shown + " has no tensor \"heed_layer_load.W_q.weight\", nor the names by which other frameworks call it;"
                + " it has no tensors at all", () -> attention.load(file, "heed_layer_load"));

        Path withBias = TestFiles.write(folder.resolve("model"), "{\"W_q.weight\":" + EMPTY + ",\"W_q.bias\":" + EMPTY
                + ",\"W_k.weight\":" + EMPTY + ",\"W_v.weight\":" + EMPTY + ",\"W_v.bias\":" + EMPTY
                + ",\"W_o.weight\":" + EMPTY + "}");
        says(
                "\"" + withBias + "\" has \"W_q.bias\", a parameter that this block's options lack: expected Bias.Q in"
                        + " biases, and as it has W_v.bias too, biases Bias.Q, Bias.V",
                () -> attention.load(withBias));
    }

    /** A tensor without elements in the header of a file. */
    private static final String EMPTY = "{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";

    private void forward(NDArray... inputs) {
        attention.forward(new ParameterStore(manager, false), new NDList(inputs), false);
    }

    private static void says(String sentence, Executable call) {
        assertEquals(sentence, assertThrows(Throwable.class, call).getMessage());
    }
}
