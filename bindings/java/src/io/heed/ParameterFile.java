// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.CRC32;
import java.util.zip.CheckedOutputStream;

/**
 * The format of {@link Block#saveParameters}, which docs/weights.md also describes. Numbers are big-endian, texts as
 * {@link DataOutputStream#writeUTF} writes them:
 *
 * <pre>
 * file    int 0x48454544 "HEED", byte 1 the version, block, int CRC-32 of all before
 * block   text kind: "Linear" and so on for heed's own; shapes; bytes of a .safetensors file
 *         "AbstractBlock": byte the class's version; shapes;
 *             int count, for each parameter: text name, text type, shape, bytes of its elements, little-endian;
 *             int count, for each block inside: text name, block
 *         "Block", any other class: bytes, what its own saveParameters writes
 * shapes  int count, -1 for none; shape
 * shape   byte rank, -1 for null; long each size
 * bytes   int count; the bytes
 * </pre>
 */
final class ParameterFile {
    private static final int MAGIC = 0x48454544;
    private static final int VERSION = 1;
    private static final int MAX_RANK = 8;
    private static final String COMPOSED = "AbstractBlock";
    private static final String OTHER = "Block";

    /** Parameters that were read and checked. One of the two methods is called, once. */
    interface Staged {
        void commit() throws IOException, MalformedModelException;

        void discard();
    }

    private ParameterFile() {}

    static void save(Block block, DataOutputStream os) throws IOException {
        CheckedOutputStream checked = new CheckedOutputStream(Objects.requireNonNull(os, "os"), new CRC32());
        checkSavable(block);
        DataOutputStream out = new DataOutputStream(checked);
        out.writeInt(MAGIC);
        out.writeByte(VERSION);
        writeBlock(block, out);
        os.writeInt((int) checked.getChecksum().getValue());
        os.flush();
    }

    static void load(Block block, NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        Objects.requireNonNull(manager, "manager").openContext();
        ParameterReader in = new ParameterReader(StoppedCalls.stopped(Objects.requireNonNull(is, "is")));
        if (in.readInt("the mark \"HEED\" at its beginning") != MAGIC) {
            throw new MalformedModelException("the stream is not what heed's saveParameters writes");
        }
        int version = Byte.toUnsignedInt(in.readByte("the version of its format"));
        if (version != VERSION) {
            throw new MalformedModelException("the parameters are of version " + version + ", expected " + VERSION);
        }
        Deque<Staged> staged = new ArrayDeque<>();
        try {
            readBlock(block, "the block", manager, in, staged);
            int found = in.checksum();
            if (in.readInt("the checksum at its end") != found) {
                throw new MalformedModelException("the parameters are damaged: their checksum is another");
            }
            StoppedCalls.check();
            while (!staged.isEmpty()) {
                staged.remove().commit();
            }
        } finally {
            staged.forEach(Staged::discard);
        }
    }

    /** Throws if a parameter is missing, before anything is written. */
    private static void checkSavable(Block block) {
        if (block instanceof NativeBlock) {
            ((NativeBlock) block).checkSavable();
        } else if (block instanceof AbstractBlock) {
            ((AbstractBlock) block).parameters.values().forEach(Parameter::getArray);
            ((AbstractBlock) block).children.values().forEach(ParameterFile::checkSavable);
        }
    }

    private static void writeBlock(Block block, DataOutputStream out) throws IOException {
        if (block instanceof NativeBlock) {
            NativeBlock layer = (NativeBlock) block;
            ByteBuffer bytes = layer.savedBytes();
            out.writeUTF(layer.kind);
            writeShapes(layer.savedShapes(), out);
            writeBytes(bytes, out);
        } else if (block instanceof AbstractBlock) {
            AbstractBlock composed = (AbstractBlock) block;
            out.writeUTF(COMPOSED);
            out.writeByte(composed.version);
            writeShapes(composed.inputShapes, out);
            out.writeInt(composed.parameters.size());
            for (Parameter parameter : composed.parameters.values()) {
                NDArray array = parameter.getArray();
                out.writeUTF(parameter.getName());
                out.writeUTF(array.getDataType().name());
                writeShape(array.getShape(), out);
                writeBytes(array.toByteBuffer(), out);
            }
            out.writeInt(composed.children.size());
            for (Pair<String, Block> child : composed.children) {
                out.writeUTF(child.getKey());
                writeBlock(child.getValue(), out);
            }
        } else {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            block.saveParameters(new DataOutputStream(bytes));
            out.writeUTF(OTHER);
            out.writeInt(bytes.size());
            bytes.writeTo(out);
        }
    }

    /** Reads the parameters of a block. If the stream ends early, the message has this name. */
    private static void readBlock(
            Block block, String name, NDManager manager, ParameterReader in, Deque<Staged> staged)
            throws IOException, MalformedModelException {
        String kind = in.readText("the kind of " + name);
        if (block instanceof NativeBlock) {
            NativeBlock layer = (NativeBlock) block;
            expect("block", kind, layer.kind);
            Shape[] shapes = readShapes(in, name);
            ByteBuffer bytes = in.readBytes("the parameters of " + name);
            try {
                staged.add(layer.stage(manager, shapes, bytes, bytes.limit()));
            } catch (IllegalArgumentException | UnsupportedOperationException | HeedException error) {
                throw new MalformedModelException(error.getMessage(), error);
            }
        } else if (block instanceof AbstractBlock) {
            AbstractBlock composed = (AbstractBlock) block;
            expect("block", kind, COMPOSED);
            expect("version of the block", in.readByte("the version of " + name), composed.version);
            Shape[] shapes = readShapes(in, name);
            expect(
                    "number of parameters",
                    in.readInt("the number of parameters of " + name),
                    composed.parameters.size());
            for (Map.Entry<String, Parameter> parameter : composed.parameters.entrySet()) {
                String expected = "the parameter \"" + parameter.getKey() + '"';
                expect("parameter", in.readText("the name of " + expected), parameter.getKey());
                staged.add(stage(parameter.getValue(), readArray(manager, in, expected)));
            }
            expect(
                    "number of blocks inside",
                    in.readInt("the number of blocks inside " + name),
                    composed.children.size());
            for (Pair<String, Block> child : composed.children) {
                String expected = "the block \"" + child.getKey() + '"';
                expect("block inside", in.readText("the name of " + expected), child.getKey());
                readBlock(child.getValue(), expected, manager, in, staged);
            }
            staged.add(stage(composed, shapes));
        } else {
            expect("block", kind, OTHER);
            ByteBuffer bytes = in.readBytes("the parameters of " + name);
            // This step comes first, because it is the only one that can fail: nothing has been changed yet.
            staged.addFirst(stage(block, manager, bytes));
        }
    }

    /** Sets a parameter to an array, of which it becomes the owner. */
    static Staged stage(Parameter parameter, NDArray array) throws MalformedModelException {
        Shape shape = parameter.getShape();
        if (shape != null && !shape.equals(array.getShape())) {
            array.close();
            throw new MalformedModelException("the parameter \"" + parameter.getName() + "\" has shape "
                    + array.getShape() + ", expected " + shape);
        }
        return new Staged() {
            @Override
            public void commit() {
                parameter.setArray(array);
            }

            @Override
            public void discard() {
                array.close();
            }
        };
    }

    private static Staged stage(AbstractBlock block, Shape[] shapes) {
        return new Staged() {
            @Override
            public void commit() {
                block.inputShapes = shapes;
            }

            @Override
            public void discard() {}
        };
    }

    private static Staged stage(Block block, NDManager manager, ByteBuffer bytes) {
        return new Staged() {
            @Override
            public void commit() throws IOException, MalformedModelException {
                byte[] copy = new byte[bytes.remaining()];
                bytes.get(copy);
                block.loadParameters(manager, new DataInputStream(new ByteArrayInputStream(copy)));
            }

            @Override
            public void discard() {}
        };
    }

    private static NDArray readArray(NDManager manager, ParameterReader in, String name)
            throws IOException, MalformedModelException {
        DataType type = readType(in, name);
        Shape shape = readShape(in, name);
        ByteBuffer bytes = in.readBytes("the elements of " + name);
        try {
            return manager.outOfScope(manager.create(bytes.order(ByteOrder.nativeOrder()), shape, type));
        } catch (IllegalArgumentException | NullPointerException error) {
            throw new MalformedModelException(error.getMessage(), error);
        }
    }

    private static DataType readType(ParameterReader in, String name) throws IOException, MalformedModelException {
        String found = in.readText("the element type of " + name);
        for (DataType type : DataType.values()) {
            if (type.name().equals(found)) {
                return type;
            }
        }
        throw new MalformedModelException("there is no element type " + found);
    }

    private static void writeShapes(Shape[] shapes, DataOutputStream out) throws IOException {
        out.writeInt(shapes == null ? -1 : shapes.length);
        if (shapes != null) {
            for (Shape shape : shapes) {
                writeShape(shape, out);
            }
        }
    }

    private static Shape[] readShapes(ParameterReader in, String name) throws IOException, MalformedModelException {
        int count = in.readInt("the number of input shapes of " + name);
        if (count == -1) {
            return null;
        }
        ParameterReader.checkCount(count);
        List<Shape> shapes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            shapes.add(readShape(in, "input " + i + " of " + name));
        }
        return shapes.toArray(new Shape[0]);
    }

    private static void writeShape(Shape shape, DataOutputStream out) throws IOException {
        out.writeByte(shape == null ? -1 : shape.dimension());
        if (shape != null) {
            for (int axis = 0; axis < shape.dimension(); axis++) {
                out.writeLong(shape.get(axis));
            }
        }
    }

    private static Shape readShape(ParameterReader in, String name) throws IOException, MalformedModelException {
        int rank = in.readByte("the number of axes of " + name);
        if (rank == -1) {
            return null;
        }
        if (rank < 0 || rank > MAX_RANK) {
            throw new MalformedModelException("a shape has " + rank + " axes, expected 0 to " + MAX_RANK);
        }
        long[] dims = new long[rank];
        for (int axis = 0; axis < rank; axis++) {
            dims[axis] = in.readLong("the size of axis " + axis + " of " + name);
            if (dims[axis] < 0) {
                throw new MalformedModelException("axis " + axis + " of a shape has the size " + dims[axis]);
            }
        }
        return new Shape(dims);
    }

    private static void writeBytes(ByteBuffer bytes, DataOutputStream out) throws IOException {
        out.writeInt(bytes.limit());
        Streams.write(bytes, out);
    }

    private static void expect(String what, Object found, Object expected) throws MalformedModelException {
        if (!found.equals(expected)) {
            throw new MalformedModelException("the stream has the " + what + " " + found + ", expected " + expected);
        }
    }
}
