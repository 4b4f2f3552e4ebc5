// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The arrays in files of weights, and blocks that are loaded from them: one file, several with an index, other files.
 */
@Tag("cpu")
class WeightsTest {
    private static final String[] PARTS = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
    private static final String INDEX = "model.safetensors.index.json";

    @TempDir
    Path folder;

    /** Writes a linear layer of 2 outputs and 1 input, "fc", in two files. */
    private void writeCutModel() throws IOException {
        TestFiles.write(
                folder.resolve(PARTS[0]),
                "{\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                floats(1, 2));
        TestFiles.write(
                folder.resolve(PARTS[1]),
                "{\"fc.weight\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}}",
                floats(10, 20));
        Files.writeString(
                folder.resolve(INDEX),
                "{\"metadata\":{\"total_size\":16},\"weight_map\":{\"fc.bias\":\"" + PARTS[0] + "\",\"fc.weight\":\""
                        + PARTS[1] + "\"}}");
    }

    private static byte[] floats(float... values) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return bytes.array();
    }

    private interface Loading {
        void load(Linear linear) throws IOException;
    }

    /** Checks that the layer's output for 3 is (31, 62). */
    private static void expectLoaded(Loading loading) throws IOException {
        try (NDManager manager = NDManager.newBaseManager();
                Linear linear = Linear.builder().setUnits(2).build()) {
            loading.load(linear);
            NDArray output = linear.forward(
                            new ParameterStore(), new NDList(manager.create(new float[] {3}, new Shape(1, 1))), false)
                    .head();
            assertArrayEquals(new float[] {31, 62}, output.toFloatArray());
        }
    }

    @Test
    void listNamesTypesAndShapes() {
        Path file = TestFiles.write(
                folder.resolve("any"),
                "{\"z\":{\"dtype\":\"BF16\",\"shape\":[2,1],\"data_offsets\":[0,4]},"
                        + "\"a\\ud83d\\ude00\":{\"dtype\":\"F8_E4M3\",\"shape\":[],\"data_offsets\":[4,5]},"
                        + "\"deep\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[5,6]}}",
                new byte[6]);
        Weights weights = Weights.open(file);
        assertEquals(List.of("a\ud83d\ude00", "deep", "z"), weights.getNames());
        assertThrows(UnsupportedOperationException.class, () -> weights.getNames().clear());
        assertEquals(DataType.BFLOAT16, weights.getDataType("z"));
        assertEquals("BF16", weights.getDataTypeName("z"));
        assertEquals(new Shape(2, 1), weights.getShape("z"));
        assertNull(weights.getDataType("a\ud83d\ude00"));
        assertEquals("F8_E4M3", weights.getDataTypeName("a\ud83d\ude00"));
        assertEquals(new Shape(), weights.getShape("a\ud83d\ude00"));
        assertEquals("\"deep\" has 9 axes, expected at most 8", assertThrows(
                UnsupportedOperationException.class, () -> weights.getShape("deep")).getMessage());
        Throwable error = assertThrows(IllegalArgumentException.class, () -> weights.getShape("none"));
        assertEquals("name is \"none\", which is no array of " + file, error.getMessage());
        assertEquals("Weights of " + file + ", 3 arrays", weights.toString());
        weights.close();
        weights.close();
        assertTrue(weights.toString().endsWith(" (closed)"));
        assertEquals("the set of weights is closed",
                assertThrows(IllegalStateException.class, weights::getNames).getMessage());
    }

    @Test
    void ofSeveralFilesAreFoundByTheIndexAndByEachFile() throws IOException {
        writeCutModel();
        for (String name : new String[] {INDEX, PARTS[0], PARTS[1]}) {
            Path path = folder.resolve(name);
            expectLoaded(linear -> linear.load(path, "fc"));
            expectLoaded(linear -> linear.load(path, "fc."));
            expectLoaded(linear -> linear.load(path, "fc", new String[0]));
            try (Weights weights = Weights.open(path); NDManager manager = NDManager.newBaseManager()) {
                assertEquals(List.of("fc.bias", "fc.weight"), weights.getNames());
                expectLoaded(linear -> linear.load(weights, "fc"));
                assertArrayEquals(new float[] {10, 20}, manager.load(path, "fc.weight").toFloatArray());
            }
        }
    }

    @Test
    void comeFromStreamsToo() throws IOException {
        Path file = TestFiles.write(
                folder.resolve("one"),
                "{\"bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                        + "\"weight\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]}}",
                floats(1, 2, 10, 20));
        expectLoaded(linear -> {
            try (InputStream stream = Files.newInputStream(file)) {
                linear.load(stream, null, new String[0]);
            }
        });
    }

    @Test
    void thatAreMissingAreNamed() throws IOException {
        writeCutModel();
        Files.delete(folder.resolve(PARTS[1]));
        try (Linear linear = Linear.builder().setUnits(2).build()) {
            for (Loading loading : new Loading[] {
                    each -> each.load(folder.resolve(INDEX), "fc"), each -> Weights.open(folder.resolve(INDEX)).close()}) {
                HeedException error = assertThrows(HeedException.class, () -> loading.load(linear));
                assertEquals(Status.IO, error.getStatus());
                assertTrue(error.getMessage().contains(PARTS[1]), error.getMessage());
            }
            Files.delete(folder.resolve(INDEX));
            HeedException alone =
                    assertThrows(HeedException.class, () -> linear.load(folder.resolve(PARTS[0]), "fc"));
            assertEquals(Status.NOT_FOUND, alone.getStatus());
            assertTrue(alone.getMessage().contains("part 1 of 2"), alone.getMessage());
        }
    }

    /** A block opens only the files with its own parameters. */
    @Test
    void ofOtherBlocksMayBeMissing() throws IOException {
        writeCutModel();
        String index = Files.readString(folder.resolve(INDEX));
        String missing = "model-00003-of-00003.safetensors";
        Files.writeString(
                folder.resolve(INDEX), index.replace("{\"fc.bias\"", "{\"next.weight\":\"" + missing + "\",\"fc.bias\""));
        for (String name : new String[] {INDEX, PARTS[0], PARTS[1]}) {
            expectLoaded(linear -> linear.load(folder.resolve(name), "fc"));
        }
        try (Linear linear = Linear.builder().setUnits(2).build()) {
            HeedException error = assertThrows(
                    HeedException.class, () -> linear.load(folder.resolve(INDEX), "fc", new String[0]));
            assertEquals(Status.IO, error.getStatus());
            assertTrue(error.getMessage().contains(missing), error.getMessage());
        }
    }

    @Test
    void ofAClosedBlockAreNotOpened() {
        Linear linear = Linear.builder().setUnits(2).build();
        linear.close();
        Throwable error =
                assertThrows(IllegalStateException.class, () -> linear.load(folder.resolve("none"), "fc"));
        assertEquals("the block, or the manager that it was initialized with, is closed", error.getMessage());
    }

    /** The block's context has a logger, and the call is one of the block. */
    @Test
    void thatCannotBeOpenedAreLogged() {
        List<String> messages = new ArrayList<>();
        ContextOptions options = ContextOptions.builder().optLogger((level, text) -> messages.add(text)).build();
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), options);
                Linear linear = Linear.builder().setUnits(2).build()) {
            linear.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
            messages.clear();
            HeedException error = assertThrows(HeedException.class, () -> linear.load(folder.resolve("none"), "fc"));
            assertEquals(List.of("load: " + error.getMessage()), messages);
        }
    }

    @Test
    void ofAnotherKindAreNamed() throws IOException {
        Path pointer = folder.resolve("model.safetensors");
        Files.writeString(pointer, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
                StandardCharsets.US_ASCII);
        HeedException error = assertThrows(HeedException.class, () -> Weights.open(pointer));
        assertEquals(Status.CORRUPT_FILE, error.getStatus());
        assertTrue(error.getMessage().contains("git lfs pull"), error.getMessage());
    }

    @Test
    void nullsAreNamed() {
        Path file = TestFiles.write(folder.resolve("one"), "{}");
        Weights weights = Weights.open(file);
        try (Linear linear = Linear.builder().setUnits(2).build()) {
            assertEquals("weights",
                    assertThrows(NullPointerException.class, () -> linear.load((Weights) null, "fc")).getMessage());
            assertEquals("accept", assertThrows(
                    NullPointerException.class, () -> linear.load(weights, "fc", (String[]) null)).getMessage());
            assertEquals("accept", assertThrows(
                    NullPointerException.class, () -> linear.load(weights, "fc", (String) null)).getMessage());
            weights.close();
            assertEquals("the set of weights is closed",
                    assertThrows(IllegalStateException.class, () -> linear.load(weights, "fc")).getMessage());
        }
    }
}
