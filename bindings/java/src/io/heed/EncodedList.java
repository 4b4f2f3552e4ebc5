// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The format of {@link NDList#encode()}, which is DJL's. Numbers are big-endian, texts as {@link
 * DataOutputStream#writeUTF} writes them:
 *
 * <pre>
 * list     int count, for each array:
 * array    text "NDAR"; int version; from version 2: byte 1 and text name, or byte 0;
 *          text "DENSE"; text type; shape as Shape.getEncoded;
 *          from version 3: byte '&lt;' or '&gt;', the elements' order;
 *          int count of bytes; the elements' bytes
 * </pre>
 */
final class EncodedList {
    private static final String MAGIC = "NDAR";
    private static final int VERSION = 3;
    private static final String DENSE = "DENSE";
    private static final int MAX_RANK = 8;

    private EncodedList() {}

    // ---- Writing ----------------------------------------------------------------------------------------------------

    static void write(NDList list, OutputStream os) throws IOException {
        // Nothing is written if an array is missing.
        for (int i = 0; i < list.size(); i++) {
            list.openArray(i);
        }
        DataOutputStream out = new DataOutputStream(os);
        out.writeInt(list.size());
        for (int i = 0; i < list.size(); i++) {
            write(list.openArray(i), out);
        }
        out.flush();
    }

    private static void write(NDArray array, DataOutputStream out) throws IOException {
        ByteBuffer elements = array.toByteBuffer();
        String name = array.getName();
        out.writeUTF(MAGIC);
        out.writeInt(VERSION);
        out.writeBoolean(name != null);
        if (name != null) {
            out.writeUTF(name);
        }
        out.writeUTF(DENSE);
        out.writeUTF(array.getDataType().name());
        out.write(array.getShape().getEncoded());
        out.writeByte(elements.order() == ByteOrder.BIG_ENDIAN ? '>' : '<');
        out.writeInt(elements.limit());
        Streams.write(elements, out);
    }

    // ---- Reading ----------------------------------------------------------------------------------------------------

    /** Reads a list, and nothing that follows it. If that fails, the arrays that were made are closed. */
    static NDList read(NDManager manager, InputStream is) throws IOException {
        manager.openContext();
        ParameterReader in = new ParameterReader(is);
        NDList list = new NDList();
        try {
            int count = in.readInt("the number of arrays");
            ParameterReader.checkCount(count);
            while (list.size() < count) {
                list.add(readArray(manager, in, "array " + list.size()));
            }
            return list;
        } catch (EOFException | MalformedModelException error) {
            list.close();
            throw new IllegalArgumentException(error.getMessage(), error);
        } catch (Throwable error) {
            list.close();
            throw error;
        }
    }

    private static NDArray readArray(NDManager manager, ParameterReader in, String array)
            throws IOException, MalformedModelException {
        if (!MAGIC.equals(in.readText("the mark of " + array))) {
            throw new IllegalArgumentException("the stream is not what encode writes: " + array
                    + " does not begin with \"" + MAGIC + "\"; NDManager.load reads .npy and .safetensors files");
        }
        int version = in.readInt("the version of " + array);
        if (version < 1 || version > VERSION) {
            throw new UnsupportedOperationException(
                    array + " is of version " + version + ", expected 1 to " + VERSION);
        }
        boolean isNamed = version > 1 && in.readByte("the mark of the name of " + array) == 1;
        String name = isNamed ? in.readText("the name of " + array) : null;
        String format = in.readText("the format of " + array);
        if (!format.equals(DENSE)) {
            throw new UnsupportedOperationException(
                    array + " has the format \"" + shortened(format) + "\", expected \"" + DENSE + "\"");
        }
        DataType type = typeOf(in.readText("the type of " + array), array);
        Shape shape = readShape(in, array);
        ByteOrder order = version > 2 ? readOrder(in, array) : ByteOrder.nativeOrder();
        ByteBuffer elements = in.readBytes("the elements of " + array);
        checkSize(elements.limit(), type, shape, array);
        try {
            NDArray made = manager.create(elements.order(order), shape, type);
            made.setName(name);
            return made;
        } catch (IllegalArgumentException error) {
            // An array cannot have these sizes: they overflow, even if another size is 0.
            throw new IllegalArgumentException(array + " has the shape " + shape + ": " + error.getMessage(), error);
        }
    }

    private static DataType typeOf(String name, String array) {
        for (DataType type : DataType.values()) {
            if (type.name().equals(name)) {
                return type;
            }
        }
        throw new UnsupportedOperationException(array + " has elements of the type \"" + shortened(name)
                + "\", expected one of those of DataType");
    }

    private static Shape readShape(ParameterReader in, String array) throws IOException {
        int rank = in.readInt("the number of axes of " + array);
        if (rank < 0 || rank > MAX_RANK) {
            throw new IllegalArgumentException(array + " has " + rank + " axes, expected 0 to " + MAX_RANK);
        }
        long[] dims = new long[rank];
        for (int axis = 0; axis < rank; axis++) {
            dims[axis] = in.readLong("the shape of " + array);
            if (dims[axis] < 0) {
                throw new IllegalArgumentException(
                        "axis " + axis + " of " + array + " has the size " + dims[axis] + ", expected 0 or more");
            }
        }
        int layouts = in.readInt("the number of layouts of " + array);
        if (layouts != rank) {
            throw new IllegalArgumentException(array + " has layouts for " + layouts + " axes, expected " + rank);
        }
        for (int i = 0; i < layouts * Character.BYTES; i++) {
            in.readByte("the layouts of " + array);
        }
        return new Shape(dims);
    }

    private static ByteOrder readOrder(ParameterReader in, String array) throws IOException {
        byte order = in.readByte("the byte order of " + array);
        if (order != '<' && order != '>') {
            throw new IllegalArgumentException(array + " has the byte order " + order + ", expected " + (int) '<'
                    + " for little-endian or " + (int) '>' + " for big-endian");
        }
        return order == '>' ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    }

    private static void checkSize(int numBytes, DataType type, Shape shape, String array) {
        boolean fits;
        try {
            fits = numBytes == Math.multiplyExact(shape.size(), (long) type.getNumOfBytes());
        } catch (ArithmeticException error) {
            fits = false;
        }
        if (!fits) {
            throw new IllegalArgumentException(array + " has " + numBytes + " bytes of elements, which do not fit "
                    + type.name() + " and the shape " + shape);
        }
    }

    /** The beginning of a text of any length, for a message. */
    private static String shortened(String text) {
        String start = text.substring(0, Math.min(text.length(), 20)).replaceAll("[^ -~]", "?");
        return start.length() < text.length() ? start + "..." : start;
    }
}
