// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.nio.file.Paths;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Every invalid argument gives the right exception, whose message names it. */
class BadInputTest {
    private final ParameterStore ps = new ParameterStore();
    private NDManager manager;
    private MultiHeadAttention attention;
    private NDArray queries;
    private NDArray keys;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        attention = new MultiHeadAttention(100, 5, 0, false);
        attention.load(TestFiles.golden("d2l"), "attention");
        queries = manager.ones(new Shape(2, 4, 100));
        keys = manager.ones(new Shape(2, 6, 100));
    }

    @AfterEach
    void close() {
        attention.close();
        manager.close();
    }

    @Test
    void constructor() {
        illegal(() -> new MultiHeadAttention(100, 7, 0, false), "numHiddens", "100", "numHeads", "7");
        illegal(() -> new MultiHeadAttention(100, 0, 0, false), "numHeads", "0");
        illegal(() -> new MultiHeadAttention(100, -5, 0, false), "numHeads", "-5");
        illegal(() -> new MultiHeadAttention(-100, 5, 0, false), "numHiddens", "-100");
        for (float dropout : new float[] {1, -0.1f, Float.NaN, Float.POSITIVE_INFINITY}) {
            illegal(() -> new MultiHeadAttention(100, 5, dropout, false), "dropout");
        }
    }

    @Test
    void arrays() {
        illegal(() -> manager.zeros(new Shape(2, -1)), "shape", "-1");
        illegal(() -> manager.zeros(new Shape(1, 1, 1, 1, 1, 1, 1, 1, 1)), "rank", "9");
        illegal(() -> manager.zeros(new Shape(1L << 40, 1L << 40)), "shape", "overflow");
        illegal(() -> manager.create(new float[] {1, 2, 3}, new Shape(2, 2)), "3 elements", "(2, 2) has 4");
        illegal(() -> manager.create(new int[] {1, 2, 3}, new Shape(2, 2)), "3 elements", "(2, 2) has 4");
        illegal(() -> manager.create(new long[] {1, 2, 3}, new Shape(2, 2)), "3 elements", "has 4");
        check(OutOfMemoryError.class, () -> manager.zeros(new Shape(1L << 45)), "140737488355328");
        NDArray scalar = manager.create(1f);
        illegal(() -> scalar.swapAxes(0, -1), "axis1 is 0, but a scalar has no axes");
        illegal(() -> scalar.size(0), "a scalar has no axes");
    }

    @Test
    void sizesThatDoNotFit() {
        illegal(() -> forward(queries, manager.ones(new Shape(3, 6, 100)), keys), "(3, 6, 100)", "(2, 4, 100)");
        illegal(() -> forward(queries, keys, manager.ones(new Shape(2, 5, 100))), "(2, 5, 100)", "(2, 6, 100)");
        illegal(() -> forward(manager.ones(new Shape(4, 100)), keys, keys), "queries", "(4, 100)", "rank");
        illegal(() -> forward(manager.ones(new Shape(2, 4, 50)), keys, keys), "(2, 4, 50)", "(100, 100)");
    }

    @Test
    void typesThatDoNotFit() {
        illegal(() -> forward(manager.ones(new Shape(2, 4, 100), DataType.FLOAT64), keys, keys), "queries", "FLOAT64");
        illegal(
                () -> forward(queries, manager.ones(new Shape(2, 6, 100), DataType.FLOAT16), keys), "keys", "FLOAT16",
                "FLOAT32");
        illegal(() -> forward(queries, keys, keys, manager.ones(new Shape(2), DataType.FLOAT64)), "validLens", "FLOAT64");
    }

    @Test
    void invalidLengths() {
        for (float length : new float[] {7, -1, 1.5f, Float.NaN, Float.POSITIVE_INFINITY}) {
            illegal(() -> forward(queries, keys, keys, manager.create(new float[] {2, length})), "validLens", "6");
        }
        illegal(() -> forward(queries, keys, keys, manager.create(new int[] {1, 2, 3})), "validLens", "(3)", "(2)");
        illegal(
                () -> forward(queries, keys, keys, manager.create(new int[] {1, 2}, new Shape(2, 1))), "validLens",
                "(2, 1)");
    }

    @Test
    void listsOfAnotherLength() {
        illegal(() -> forward(queries, keys), "2 arrays", "3 or 4");
        illegal(() -> forward(queries, keys, keys, null, queries), "5 arrays", "3 or 4");
        illegal(() -> attention.initialize(manager, DataType.FLOAT32, queries.getShape()), "1 shape", "3 or 4");
    }

    @Test
    void initialize() {
        MultiHeadAttention other = new MultiHeadAttention(100, 5, 0, false);
        Shape q = queries.getShape();
        Shape k = keys.getShape();
        illegal(() -> other.initialize(manager, DataType.INT32, q, k, k), "INT32");
        illegal(() -> other.initialize(manager, DataType.FLOAT32, q, new Shape(3, 6, 100), k), "(3, 6, 100)");
        assertThrows(IllegalStateException.class, () -> other.forward(ps, new NDList(queries, keys, keys), false));
        check(
                IllegalStateException.class, () -> other.forward(ps, new NDList(queries, keys, keys), false),
                "W_q.weight is not set");
        check(IllegalStateException.class, () -> other.save(Paths.get("never-written")), "W_q.weight");
    }

    @Test
    void files(@TempDir Path folder) {
        Path golden = TestFiles.golden("d2l");
        heed(Status.IO, () -> manager.load(folder.resolve("none"), "x"), "none");
        heed(Status.IO, () -> manager.load(folder, "x"), folder.toString());
        heed(Status.NOT_FOUND, () -> manager.load(golden, "nobody"), "nobody");
        illegal(() -> manager.load(golden, "a\0b"), "name", "zero character");
        for (String half : new String[] {"a\ud83db", "a\ude00", "\ud83d"}) {
            illegal(() -> manager.load(golden, half), "name", "surrogate");
            illegal(() -> attention.load(golden, half), "prefix", "surrogate");
        }
        Path truncated = TestFiles.write(folder.resolve("truncated"), "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],"
                + "\"data_offsets\":[0,3]}}", (byte) 1);
        heed(Status.CORRUPT_FILE, () -> manager.load(truncated, "a"), "truncated");

        heed(Status.IO, () -> attention.load(folder.resolve("none"), "attention"), "none");
        heed(Status.IO, () -> attention.save(folder.resolve("no/such/file")), "no/such/file");
        heed(Status.NOT_FOUND, () -> attention.load(golden, "encoder"), "encoder.W_q.weight");
        MultiHeadAttention biased = new MultiHeadAttention(100, 5, 0, true);
        heed(Status.NOT_FOUND, () -> biased.load(golden, "attention"), "attention.W_q.bias");
        illegal(() -> attention.load(TestFiles.golden("pytorch_bias"), "attention"), "attention.W_q.bias");
        MultiHeadAttention smaller = new MultiHeadAttention(50, 5, 0, false);
        illegal(() -> smaller.load(golden, "attention"), "attention.W_q.weight", "(100, 100)");
    }

    @Test
    void nulls() {
        Path golden = TestFiles.golden("d2l");
        Shape q = queries.getShape();
        isNull("data", () -> manager.create((float[]) null));
        isNull("data", () -> manager.create((float[]) null, new Shape(1)));
        isNull("data", () -> manager.create((int[]) null, new Shape(1)));
        isNull("data", () -> manager.create((long[]) null, new Shape(1)));
        isNull("shape", () -> manager.create(new float[1], null));
        isNull("shape", () -> manager.ones(null));
        isNull("dims", () -> new Shape((long[]) null));
        isNull("arrays", () -> new NDList((NDArray[]) null));
        isNull("dataType", () -> manager.zeros(new Shape(1), null));
        isNull("path", () -> manager.load(null, "x"));
        isNull("name", () -> manager.load(golden, null));
        isNull("path", () -> attention.load((java.nio.file.Path) null, "x"));
        isNull("path", () -> attention.save((java.nio.file.Path) null));
        isNull("manager", () -> attention.initialize(null, DataType.FLOAT32, q, q, q));
        isNull("dataType", () -> attention.initialize(manager, null, q, q, q));
        isNull("inputShapes", () -> attention.initialize(manager, DataType.FLOAT32, (Shape[]) null));
        isNull("keys", () -> attention.initialize(manager, DataType.FLOAT32, q, null, q));
        isNull("parameterStore", () -> attention.forward(null, new NDList(queries, keys, keys), false));
        isNull("inputs", () -> attention.forward(ps, null, false));
        isNull("biases", () -> MultiHeadAttention.builder().optBiases((Bias[]) null));
        isNull("biases", () -> MultiHeadAttention.builder().optBiases(Bias.Q, null));
        AttentionInputs inputs = new AttentionInputs().setQueries(queries).setKeys(keys).setValues(keys);
        isNull("wanted", () -> attention.createOutputs(inputs, (Wanted) null));
        isNull("queries", () -> forward(null, keys, keys));
        isNull("keys", () -> forward(queries, null, keys));
        isNull("values", () -> forward(queries, keys, null));
    }

    private NDList forward(NDArray... inputs) {
        return attention.forward(ps, new NDList(inputs), false);
    }

    private static void isNull(String name, Executable use) {
        assertEquals(name, assertThrows(NullPointerException.class, use).getMessage());
    }

    private static void illegal(Executable use, String... words) {
        check(IllegalArgumentException.class, use, words);
    }

    private static void heed(Status status, Executable use, String... words) {
        assertEquals(status, ((HeedException) check(HeedException.class, use, words)).getStatus());
    }

    private static Throwable check(Class<? extends Throwable> type, Executable use, String... words) {
        Throwable error = assertThrows(type, use);
        for (String word : words) {
            assertTrue(error.getMessage().contains(word), error.getMessage() + " has no " + word);
        }
        return error;
    }
}
