// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Parameters in streams: the format of saveParameters, and .safetensors files. */
class SavedParametersTest {
    /** A block with an array of its own, and child blocks. */
    private static final class WithTable extends AbstractBlock {
        private final ComposedAttention inside = addChildBlock("inside", new ComposedAttention(8, 2, 0, true));
        private final Parameter table = addParameter(Parameter.builder()
                .setName("table")
                .setType(Parameter.Type.OTHER)
                .optShape(new Shape(2, 3))
                .optInitializer(new NormalInitializer())
                .build());

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            inside.initialize(manager, dataType, inputShapes);
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            return inside.forward(ps, inputs, training, params);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0]};
        }
    }

    /** scale * dropout(linear(x)), as in C#'s tests. */
    private static final class ScaledBlock extends AbstractBlock {
        private final Parameter scale = addParameter(Parameter.builder()
                .setName("scale")
                .setType(Parameter.Type.GAMMA)
                .build());
        private final Linear inner = addChildBlock("inner", Linear.builder().setUnits(2).build());
        private final Dropout dropout =
                addChildBlock("größe €\ud834\udd1e", Dropout.builder().optRate(0.5f).build());

        ScaledBlock() {
            super((byte) 4);
        }

        @Override
        protected void prepare(Shape[] inputShapes) {
            scale.setShape(new Shape(2));
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            inner.initialize(manager, dataType, inputShapes);
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray hidden = dropout.forward(ps, inner.forward(ps, inputs, training), training).head();
            float[] factors = scale.getArray().toFloatArray();
            return new NDList(hidden.matMul(
                    hidden.getManager().create(new float[][] {{factors[0], 0}, {0, factors[1]}})));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inner.getOutputShapes(inputShapes);
        }
    }

    private NDManager manager;
    private final Shape x = new Shape(2, 3, 8);

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** A file that a Python script wrote by docs/weights.md; C#'s tests read and write it, too. */
    @Test
    void theFormatIsTheDocumentedOne() throws Exception {
        byte[] written = Files.readAllBytes(TestFiles.data("block_parameters.bin"));
        ScaledBlock block = new ScaledBlock();
        block.loadParameters(manager, stream(written));
        assertArrayEquals(new Shape[] {new Shape(2, 3)}, block.getInputShapes());
        float[][] expected = {{2, 3}, {1, 2, 3, 4, 5, 6}, {-1, 0.5f}};
        for (int i = 0; i < expected.length; i++) {
            assertArrayEquals(expected[i], block.getParameters().valueAt(i).getArray().toFloatArray());
        }
        NDList row = new NDList(manager.create(new float[][] {{1, 0, -1}}));
        NDList output = block.forward(new ParameterStore(manager, false), row, false);
        assertArrayEquals(new float[] {-6, -4.5f}, output.head().toFloatArray());
        assertArrayEquals(written, saved(block));
    }

    @Test
    void everyBlockIsRestored() throws Exception {
        List<Supplier<Block>> kinds = List.of(
                () -> Linear.builder().setUnits(3).build(),
                () -> Dropout.builder().build(),
                () -> LayerNorm.builder().build(),
                () -> FeedForward.builder().setHiddenSize(3).build(),
                () -> TransformerScene.encoderBlock().build(),
                () -> new DotProductAttention(0),
                () -> new AdditiveAttention(4, 0),
                () -> new GeneralAttention(x.get(2), 0),
                () -> new MultiHeadAttention(8, 2, 0, true),
                () -> new ComposedAttention(8, 2, 0, true),
                WithTable::new);
        for (Supplier<Block> kind : kinds) {
            Block block = kind.get();
            Shape[] shapes = block instanceof BuiltBlock
                    ? new Shape[] {x}
                    : new Shape[] {x, x, x, new Shape(2)};
            block.initialize(manager, DataType.FLOAT32, shapes);
            byte[] bytes = saved(block);
            Block copy = kind.get();
            // Bytes after it in the stream are not read.
            byte[] more = Arrays.copyOf(bytes, bytes.length + 1);
            more[bytes.length] = 42;
            DataInputStream stream = new DataInputStream(new ByteArrayInputStream(more));
            copy.loadParameters(manager, stream);
            assertEquals(42, stream.read());
            assertTrue(copy.isInitialized());
            assertArrayEquals(block.getInputShapes(), copy.getInputShapes());
            assertSame(block, copy);
            assertArrayEquals(bytes, saved(copy));

            NDManager sub = manager.newSubManager();
            copy.loadParameters(sub, stream(bytes));
            assertSame(block, copy);
            sub.close();
            assertEquals(block.getParameters().isEmpty(), copy.isInitialized());
        }
    }

    @Test
    void typesAreTheFiles() throws Exception {
        Linear half = Linear.builder().setUnits(3).build();
        half.initialize(manager, DataType.BFLOAT16, x);
        Linear copy = Linear.builder().setUnits(3).build();
        copy.initialize(manager, DataType.FLOAT32, new Shape(1, 5));
        copy.loadParameters(manager, stream(saved(half)));
        assertEquals(DataType.BFLOAT16, copy.getParameters().get("weight").getArray().getDataType());
        assertSame(half, copy);
    }

    /** Input shapes without lengths are restored as such, also those of a block without input shapes. */
    @Test
    void shapesMayBeMissing() throws Exception {
        MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, false);
        attention.initialize(manager, DataType.FLOAT32, x, x, x, null);
        MultiHeadAttention copy = new MultiHeadAttention(8, 2, 0, false);
        copy.loadParameters(manager, stream(saved(attention)));
        assertArrayEquals(new Shape[] {x, x, x, null}, copy.getInputShapes());
        Linear set = Linear.builder().setUnits(1).optBias(false).build();
        set.getParameters().get("weight").setArray(manager.ones(new Shape(1, 2)));
        Linear other = Linear.builder().setUnits(1).optBias(false).build();
        other.loadParameters(manager, stream(saved(set)));
        assertTrue(other.isInitialized());
        assertThrows(IllegalStateException.class, other::getInputShapes);
    }

    /** Truncated anywhere, or with any byte changed, a stream is refused, and the block does not change. */
    @Test
    void damagedStreamsAreRefused() throws Exception {
        WithTable block = new WithTable();
        block.initialize(manager, DataType.FLOAT32, x, x, x, new Shape(2));
        byte[] bytes = saved(block);
        WithTable other = new WithTable();
        other.initialize(manager, DataType.FLOAT32, x, x, x, new Shape(2));
        byte[] before = saved(other);
        for (int length = 0; length < bytes.length; length += 1 + length / 50) {
            byte[] cut = Arrays.copyOf(bytes, length);
            assertThrows(EOFException.class, () -> other.loadParameters(manager, stream(cut)), "cut at " + length);
        }
        Random random = new Random(1);
        for (int i = 0; i < 400; i++) {
            byte[] changed = bytes.clone();
            int at = i < 60 ? i : random.nextInt(bytes.length);
            changed[at] ^= (byte) (1 << random.nextInt(8));
            assertRefused(() -> other.loadParameters(manager, stream(changed)), "changed at " + at);
        }
        for (int i = 0; i < 200; i++) {
            byte[] garbage = new byte[random.nextInt(300)];
            random.nextBytes(garbage);
            if (i % 2 == 0) {
                System.arraycopy(bytes, 0, garbage, 0, Math.min(garbage.length, 40));
            }
            assertRefused(() -> other.loadParameters(manager, stream(garbage)), "garbage " + i);
        }
        assertArrayEquals(before, saved(other));
        WithTable without = new WithTable();
        assertRefused(() -> without.loadParameters(manager, stream(before(bytes))), "the last byte");
        assertFalse(without.isInitialized());
    }

    /** Wherever the stream ends, the message has the number of bytes that were read, and what should have followed. */
    @Test
    void truncatedStreamsAreRefusedWithWhatIsMissing() throws Exception {
        byte[] written = Files.readAllBytes(TestFiles.data("block_parameters.bin"));
        ScaledBlock block = new ScaledBlock();
        block.initialize(manager, DataType.FLOAT32, new Shape(5, 3));
        byte[] before = saved(block);
        for (int length = 0; length < written.length; length++) {
            String message = endOf(block, written, length);
            String start = "the stream ends after " + length + (length == 1 ? " byte" : " bytes") + ", and lacks ";
            assertTrue(message.matches(start + "([1-9][0-9]* of the [1-9][0-9]* bytes of )?the [a-z].*"), message);
        }
        assertArrayEquals(before, saved(block));
        assertArrayEquals(new Shape[] {new Shape(5, 3)}, block.getInputShapes());

        int size = written.length;
        String text = new String(written, StandardCharsets.ISO_8859_1);
        int type = text.indexOf("FLOAT32");
        int inner = text.indexOf("01inner");
        int tensors = text.indexOf("{\"");
        Map<Integer, String> missing = new LinkedHashMap<>();
        missing.put(0, "the mark \"HEED\" at its beginning");
        missing.put(1, "3 of the 4 bytes of the mark \"HEED\" at its beginning");
        missing.put(4, "the version of its format");
        missing.put(5, "the length of the kind of the block");
        missing.put(6, "1 of the 2 bytes of the length of the kind of the block");
        missing.put(10, "10 of the 13 bytes of the kind of the block");
        missing.put(20, "the version of the block");
        missing.put(23, "2 of the 4 bytes of the number of input shapes of the block");
        missing.put(25, "the number of axes of input 0 of the block");
        missing.put(41, "1 of the 8 bytes of the size of axis 1 of input 0 of the block");
        missing.put(42, "the number of parameters of the block");
        missing.put(50, "3 of the 5 bytes of the name of the parameter \"scale\"");
        missing.put(type + 6, "1 of the 7 bytes of the element type of the parameter \"scale\"");
        missing.put(type + 7, "the number of axes of the parameter \"scale\"");
        missing.put(type + 22, "6 of the 8 bytes of the elements of the parameter \"scale\"");
        missing.put(type + 28, "the number of blocks inside the block");
        missing.put(inner + 1, "6 of the 7 bytes of the name of the block \"01inner\"");
        missing.put(inner + 7, "the length of the kind of the block \"01inner\"");
        missing.put(tensors - 9, "1 of the 4 bytes of the length of the parameters of the block \"01inner\"");
        missing.put(tensors - 8, "the parameters of the block \"01inner\"");
        missing.put(size - 4, "the checksum at its end");
        missing.put(size - 1, "1 of the 4 bytes of the checksum at its end");
        for (Map.Entry<Integer, String> cut : missing.entrySet()) {
            String message = endOf(block, written, cut.getKey());
            assertEquals(cut.getValue(), message.substring(message.indexOf("lacks ") + "lacks ".length()));
        }

        Linear linear = Linear.builder().setUnits(2).build();
        linear.initialize(manager, DataType.FLOAT32, x);
        byte[] bytes = saved(linear);
        assertEquals(
                "the stream ends after " + (bytes.length - 5) + " bytes, and lacks 1 of the "
                        + (bytes.length - 50) + " bytes of the parameters of the block",
                endOf(Linear.builder().setUnits(2).build(), bytes, bytes.length - 5));
    }

    private String endOf(Block block, byte[] bytes, int length) {
        byte[] cut = Arrays.copyOf(bytes, length);
        return assertThrows(EOFException.class, () -> block.loadParameters(manager, stream(cut)), "cut at " + length)
                .getMessage();
    }

    @Test
    void saysWhatItHasInstead() throws Exception {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, x);
        byte[] bytes = saved(linear);
        malformed("block Linear, expected Dropout", Dropout.builder().build(), bytes);
        malformed("shape (3, 8), expected (4, any)", Linear.builder().setUnits(4).build(), bytes);
        malformed("bias", Linear.builder().setUnits(3).optBias(false).build(), bytes);
        byte[] version = bytes.clone();
        version[4] = 9;
        malformed("the parameters are of version 9, expected 1", linear, version);
        byte[] magic = bytes.clone();
        magic[0] = 0;
        malformed("not what heed's saveParameters writes", linear, magic);
        byte[] last = bytes.clone();
        last[last.length - 1]++;
        malformed("checksum", linear, last);
        byte[] element = bytes.clone();
        element[element.length - 6]++;
        malformed("checksum", linear, element);

        WithTable table = new WithTable();
        table.initialize(manager, DataType.FLOAT32, x, x, x, new Shape(2));
        malformed("block AbstractBlock, expected Linear", linear, saved(table));
        malformed("number of parameters 1, expected 0", table.inside, saved(table));
        byte[] written = Files.readAllBytes(TestFiles.data("block_parameters.bin"));
        byte[] type = written.clone();
        type[new String(written, StandardCharsets.ISO_8859_1).indexOf("FLOAT32")]++;
        malformed("there is no element type GLOAT32", new ScaledBlock(), type);
        byte[] letter = written.clone();
        letter[8] = (byte) 0xff;
        malformed("a name that is no text", new ScaledBlock(), letter);
    }

    /** A block's own loadParameters is called last, after everything has been read; if it fails, nothing changes. */
    @Test
    void aFailureInABlocksOwnLoadingChangesNothing() throws Exception {
        IOException refused = new IOException("refused");
        Block refusing = (Block) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {Block.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("loadParameters")) {
                        throw refused;
                    }
                    return method.getReturnType() == ParameterList.class ? new ParameterList() : null;
                });
        ScaledBlock block = new ScaledBlock();
        block.children.add("03refusing", refusing);
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        byte[] bytes = saved(block);
        ScaledBlock copy = new ScaledBlock();
        copy.children.add("03refusing", refusing);
        assertEquals(refused, assertThrows(IOException.class, () -> copy.loadParameters(manager, stream(bytes))));
        assertFalse(copy.inner.isInitialized());
        assertFalse(copy.scale.isInitialized());
    }

    @Test
    void streamsThatThrow() throws Exception {
        MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, false);
        attention.initialize(manager, DataType.FLOAT32, x, x, x);
        byte[] before = saved(attention);
        byte[] other = safetensors(new MultiHeadAttention(8, 2, 0, false));
        IOException broken = new IOException("broken");
        for (int good : new int[] {0, 3, 100, other.length - 1}) {
            InputStream stream = new InputStream() {
                private int at;

                @Override
                public int read() throws IOException {
                    if (at == good) {
                        throw broken;
                    }
                    return other[at++] & 0xff;
                }
            };
            assertEquals(broken, assertThrows(IOException.class, () -> attention.load(stream, null)));
            DataInputStream data = new DataInputStream(stream);
            assertEquals(broken, assertThrows(IOException.class, () -> attention.loadParameters(manager, data)));
        }
        assertArrayEquals(before, saved(attention));
        OutputStream full = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw broken;
            }
        };
        assertEquals(broken, assertThrows(IOException.class, () -> attention.save(full)));
        assertEquals(
                broken, assertThrows(IOException.class, () -> attention.saveParameters(new DataOutputStream(full))));
    }

    @Test
    void safetensorsStreamsAreTheFiles(@TempDir Path folder) throws Exception {
        MultiHeadAttention attention = new MultiHeadAttention(8, 2, 0, true);
        byte[] bytes = safetensors(attention);
        Path file = folder.resolve("weights");
        attention.save(file);
        assertArrayEquals(Files.readAllBytes(file), bytes);

        MultiHeadAttention fromStream = new MultiHeadAttention(8, 2, 0, true);
        fromStream.load(new ByteArrayInputStream(bytes), null);
        assertSame(attention, fromStream);
        MultiHeadAttention fromFile = new MultiHeadAttention(8, 2, 0, true);
        fromFile.load(file);
        assertSame(attention, fromFile);
        try (InputStream golden = Files.newInputStream(TestFiles.golden("weights/pytorch_encoder"))) {
            MultiHeadAttention.Builder options =
                    MultiHeadAttention.builder().setNumHiddens(12).setNumHeads(3).optBias(true);
            MultiHeadAttention encoder = options.build();
            encoder.load(golden, "encoder.layers.1.self_attn");
            MultiHeadAttention same = options.build();
            same.load(TestFiles.golden("weights/pytorch_encoder"), "encoder.layers.1.self_attn");
            assertSame(same, encoder);
        }

        for (int length : new int[] {0, 7, 8, 60, bytes.length - 1}) {
            byte[] cut = Arrays.copyOf(bytes, length);
            HeedException error = assertThrows(
                    HeedException.class, () -> fromStream.load(new ByteArrayInputStream(cut), null));
            assertEquals(Status.CORRUPT_FILE, error.getStatus());
        }
        HeedException error = assertThrows(
                HeedException.class, () -> fromStream.load(new ByteArrayInputStream(bytes), "layers.0"));
        assertEquals(Status.NOT_FOUND, error.getStatus());
        assertSame(attention, fromStream);
    }

    /** Layers of every kind save and load themselves. */
    @Test
    void safetensorsOfOtherLayers() throws Exception {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, x);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        linear.save(bytes);
        Linear copy = Linear.builder().setUnits(3).build();
        copy.load(new ByteArrayInputStream(bytes.toByteArray()), "");
        assertSame(linear, copy);
        AdditiveAttention additive = new AdditiveAttention(4, 0);
        additive.initialize(manager, DataType.FLOAT32, x, x, x);
        bytes.reset();
        additive.save(bytes);
        AdditiveAttention other = new AdditiveAttention(4, 0);
        other.load(new ByteArrayInputStream(bytes.toByteArray()), null);
        assertSame(additive, other);
        GeneralAttention general = new GeneralAttention(x.get(2), 0);
        general.initialize(manager, DataType.FLOAT32, x, x, x);
        bytes.reset();
        general.save(bytes);
        GeneralAttention another = new GeneralAttention(x.get(2), 0);
        another.load(new ByteArrayInputStream(bytes.toByteArray()), null);
        assertSame(general, another);
    }

    @Test
    void withoutParametersNothingIsSaved() {
        Linear linear = Linear.builder().setUnits(3).build();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        assertThrows(IllegalStateException.class, () -> linear.save(bytes));
        assertThrows(IllegalStateException.class, () -> linear.saveParameters(new DataOutputStream(bytes)));
        ComposedAttention composed = new ComposedAttention(8, 2, 0, false);
        assertThrows(IllegalStateException.class, () -> composed.saveParameters(new DataOutputStream(bytes)));
    }

    @Test
    void nullsAndClosed() throws Exception {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, x);
        byte[] bytes = saved(linear);
        isNull("stream", () -> linear.save((OutputStream) null));
        isNull("stream", () -> linear.load((InputStream) null, null));
        isNull("path", () -> linear.load((Path) null));
        isNull("os", () -> linear.saveParameters(null));
        isNull("is", () -> linear.loadParameters(manager, null));
        isNull("manager", () -> linear.loadParameters(null, stream(bytes)));
        NDManager sub = manager.newSubManager();
        sub.close();
        assertThrows(IllegalStateException.class, () -> linear.loadParameters(sub, stream(bytes)));
        assertTrue(linear.isInitialized());
        linear.close();
        for (Executable use : new Executable[] {
            () -> linear.loadParameters(manager, stream(bytes)),
            () -> linear.saveParameters(new DataOutputStream(new ByteArrayOutputStream())),
            () -> linear.save(new ByteArrayOutputStream()),
            () -> linear.load(new ByteArrayInputStream(new byte[0]), null),
            () -> linear.cast(DataType.FLOAT16),
            linear::clear
        }) {
            assertEquals(
                    "the block, or the manager that it was initialized with, is closed",
                    assertThrows(IllegalStateException.class, use).getMessage());
        }
    }

    private static void assertSame(Block expected, Block actual) {
        assertEquals(expected.getParameters().keys(), actual.getParameters().keys());
        for (Pair<String, Parameter> parameter : expected.getParameters()) {
            NDArray array = actual.getParameters().get(parameter.getKey()).getArray();
            assertTrue(parameter.getValue().getArray().contentEquals(array), parameter.getKey());
        }
    }

    private void malformed(String words, Block block, byte[] bytes) {
        String message = assertThrows(
                        MalformedModelException.class, () -> block.loadParameters(manager, stream(bytes)))
                .getMessage();
        assertTrue(message.contains(words), message);
    }

    private static void assertRefused(Executable use, String what) {
        try {
            use.execute();
        } catch (MalformedModelException | IOException expected) {
            return;
        } catch (Throwable error) {
            throw new AssertionError(what, error);
        }
        fail(what + ": not refused");
    }

    private static void isNull(String name, Executable use) {
        assertEquals(name, assertThrows(NullPointerException.class, use).getMessage());
    }

    private byte[] safetensors(MultiHeadAttention attention) throws IOException {
        attention.initialize(manager, DataType.FLOAT32, x, x, x);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        attention.save(bytes);
        return bytes.toByteArray();
    }

    private static byte[] saved(Block block) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        block.saveParameters(new DataOutputStream(bytes));
        return bytes.toByteArray();
    }

    private static byte[] before(byte[] bytes) {
        return Arrays.copyOf(bytes, bytes.length - 1);
    }

    private static DataInputStream stream(byte[] bytes) {
        return new DataInputStream(new ByteArrayInputStream(bytes));
    }
}
