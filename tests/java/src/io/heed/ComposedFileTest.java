// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** .safetensors files of composed blocks, and of streams. */
class ComposedFileTest {
    /** A scale of the inputs, and blocks behind it. */
    private static final class Scaled extends AbstractBlock {
        private final Parameter scale =
                addParameter(Parameter.builder().setName("scale").setType(Parameter.Type.OTHER).optShape(new Shape(1)).build());
        private final SequentialBlock inner = addChildBlock("in\"ner", new SequentialBlock());

        Scaled(int units) {
            inner.add(Linear.builder().setUnits(units).build()).add(Dropout.builder().optRate(0.5f).build());
            scale.setInitializer(Initializer.ONES);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            inner.initialize(manager, dataType, inputShapes);
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            return inner.forward(ps, inputs, training);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inner.getOutputShapes(inputShapes);
        }
    }

    /** An array, which stays as it was set. */
    private static final class Large extends AbstractBlock {
        private final Parameter table = addParameter(
                Parameter.builder().setName("table").setType(Parameter.Type.OTHER).optShape(new Shape(700, 1001)).build());

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

    private final NDManager manager = TestDevice.newManager();

    @TempDir
    Path folder;

    @AfterEach
    void close() {
        manager.close();
    }

    private Scaled initialized(DataType type) {
        Scaled block = new Scaled(4);
        block.initialize(manager, type, new Shape(2, 3));
        return block;
    }

    @Test
    void savedAndLoaded() {
        Path file = folder.resolve("block.safetensors");
        for (DataType type : List.of(DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16)) {
            Scaled block = initialized(type);
            block.save(file);
            try (Weights weights = Weights.open(file)) {
                assertEquals(
                        List.of("01in\"ner_01Linear_bias", "01in\"ner_01Linear_weight", "scale"), weights.getNames());
            }
            try (Scaled other = new Scaled(4)) {
                assertFalse(other.isInitialized());
                other.load(manager, file);
                assertTrue(other.isInitialized());
                for (Pair<String, Parameter> each : block.getParameters()) {
                    NDArray found = other.getParameters().get(each.getKey()).getArray();
                    assertEquals(each.getValue().getArray(), found);
                    assertEquals(manager, found.getManager());
                }
                NDArray x = manager.ones(new Shape(2, 3), type);
                assertEquals(block.forward(x), other.forward(x));
                assertThrows(IllegalStateException.class, other::getInputShapes);
            }
            block.close();
        }
        assertEquals(1, folder.toFile().list().length);
    }

    /** Rows that are one after the other only in the file, and more of them than are written at once. */
    @Test
    void largeParametersAreWrittenInPieces() {
        Path file = folder.resolve("large.safetensors");
        try (SequentialBlock block = new SequentialBlock().add(Linear.builder().setUnits(700).build());
                SequentialBlock other = new SequentialBlock().add(Linear.builder().setUnits(700).build())) {
            block.initialize(manager, DataType.FLOAT32, new Shape(1, 1001));
            Parameter weight = block.getParameters().get("01Linear_weight");
            NDArray numbers = manager.arange(0, 700 * 1001, 1, DataType.FLOAT32).reshape(1001, 700).transpose();
            weight.setArray(numbers);
            block.save(file);
            assertEquals(numbers, manager.load(file, "01Linear_weight"));
            other.load(manager, file);
            assertEquals(numbers, other.getParameters().get("01Linear_weight").getArray());
            assertEquals(
                    block.getParameters().get("01Linear_bias").getArray(),
                    other.getParameters().get("01Linear_bias").getArray());
        }
        try (Large block = new Large();
                Large other = new Large()) {
            NDArray numbers = manager.arange(0, 700 * 1001, 1, DataType.FLOAT32).reshape(1001, 700).transpose();
            block.table.setArray(numbers);
            block.save(file);
            other.load(manager, file);
            assertEquals(numbers, other.table.getArray());
        }
    }

    /** Others may read a file of weights as they may read the program's other files. */
    @Test
    void filesHaveTheUsualPermissions() throws IOException {
        Path file = folder.resolve("block.safetensors");
        try (Scaled block = initialized(DataType.FLOAT32)) {
            block.save(file);
            Path usual = Files.createFile(folder.resolve("usual"));
            assertEquals(Files.getPosixFilePermissions(usual), Files.getPosixFilePermissions(file));
        }
    }

    /** As heed's own blocks do: what is in the file is what was to be saved. */
    @Test
    void interruptedThreadsSave() {
        Path file = folder.resolve("block.safetensors");
        try (Scaled block = initialized(DataType.FLOAT32)) {
            Thread.currentThread().interrupt();
            block.save(file);
            assertTrue(Thread.interrupted());
            assertEquals(block.getParameters().get("scale").getArray(), manager.load(file, "scale"));
        }
    }

    @Test
    void failuresChangeNothing() throws Exception {
        Path file = folder.resolve("block.safetensors");
        Scaled block = initialized(DataType.FLOAT32);
        block.save(file);
        Scaled other = new Scaled(5);
        other.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        NDArray before = other.getParameters().get("scale").getArray();
        NDArray weight = other.getParameters().get("01in\"ner_01Linear_weight").getArray();
        try (SequentialBlock small = new SequentialBlock()) {
            small.add(Linear.builder().setUnits(4).build());
            HeedException missing = assertThrows(HeedException.class, () -> small.load(manager, file));
            assertEquals(Status.NOT_FOUND, missing.getStatus());
            assertEquals(
                    "\"" + file + "\" has no array \"01Linear_weight\", a parameter of the block", missing.getMessage());
            small.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
            small.save(file);
            assertThrows(HeedException.class, () -> block.load(manager, file));
        }
        block.save(file);
        Path extra = folder.resolve("extra.safetensors");
        try (SequentialBlock none = new SequentialBlock()) {
            none.add(Dropout.builder().optRate(0.5f).build());
            IllegalArgumentException more =
                    assertThrows(IllegalArgumentException.class, () -> none.load(manager, file));
            assertEquals(
                    "\"" + file + "\" has \"01in\"ner_01Linear_bias\", which is no parameter of the block: expected the"
                            + " file of a block like this one",
                    more.getMessage());
            none.save(extra);
            none.load(manager, extra);
        }
        assertEquals(Status.IO, assertThrows(HeedException.class, () -> block.load(manager, folder.resolve("no"))).getStatus());
        Files.write(extra, new byte[] {1, 2, 3});
        assertEquals(
                Status.CORRUPT_FILE, assertThrows(HeedException.class, () -> block.load(manager, extra)).getStatus());
        HeedException unwritten =
                assertThrows(HeedException.class, () -> block.save(folder.resolve("no").resolve("file")));
        assertEquals(Status.IO, unwritten.getStatus());
        assertThrows(IllegalStateException.class, () -> new Scaled(3).save(extra));
        assertEquals(before, other.getParameters().get("scale").getArray());
        assertEquals(weight, other.getParameters().get("01in\"ner_01Linear_weight").getArray());
        other.close();
        block.close();
    }

    /** Pieces of any size, more than one of heed's own, up to the end and no limit of Java's arrays. */
    @Test
    void streamsAreReadInPieces() throws Exception {
        Path file = folder.resolve("linear.safetensors");
        try (Linear linear = Linear.builder().setUnits(700).build();
                Linear other = Linear.builder().setUnits(700).build()) {
            linear.initialize(manager, DataType.FLOAT32, new Shape(1, 1000));
            linear.save(file);
            byte[] bytes = Files.readAllBytes(file);
            assertTrue(bytes.length > 2 << 20);
            InputStream pieces = new SequenceInputStream(
                    new ByteArrayInputStream(bytes, 0, 1001), new ByteArrayInputStream(bytes, 1001, bytes.length - 1001));
            other.load(pieces, null);
            assertEquals(
                    linear.getParameters().get("weight").getArray(), other.getParameters().get("weight").getArray());
            other.load(new ByteArrayInputStream(bytes), "", "clip_qkv");
            HeedException cut = assertThrows(
                    HeedException.class, () -> other.load(new ByteArrayInputStream(bytes, 0, bytes.length - 1), null));
            assertEquals(Status.CORRUPT_FILE, cut.getStatus());
            IOException broken = new IOException("mine");
            assertEquals(broken, assertThrows(IOException.class, () -> other.load(new InputStream() {
                @Override
                public int read() throws IOException {
                    throw broken;
                }
            }, null)));
        }
    }
}
