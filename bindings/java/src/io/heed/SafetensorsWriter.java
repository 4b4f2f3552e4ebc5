// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;

/** Named arrays as the bytes of a .safetensors file: a number of 8 bytes, as long a header of JSON, the elements. */
final class SafetensorsWriter {
    /** Takes the bytes in their order. */
    interface Target {
        void write(byte[] bytes) throws IOException;
    }

    private static final int ALIGNMENT = 8;
    /** An array may have more bytes than a Java array. */
    private static final int PIECE_BYTES = 1 << 20;

    /** An array of the file, whose values are taken when they are written. */
    private static final class Entry {
        final String name;
        final Shape shape;
        final DataType dataType;
        private final Supplier<NDArray> values;
        private final boolean isSnapshot;

        Entry(String name, Shape shape, DataType dataType, Supplier<NDArray> values, boolean isSnapshot) {
            this.name = name;
            this.shape = shape;
            this.dataType = dataType;
            this.values = values;
            this.isSnapshot = isSnapshot;
        }

        long numBytes() {
            return shape.size() * dataType.getNumOfBytes();
        }

        void write(Target target) throws IOException {
            NDArray array = values.get();
            try {
                if (!array.getShape().equals(shape) || array.getDataType() != dataType) {
                    throw new IllegalStateException(
                            "the shape or the type of \"" + name + "\" was changed while the block was saved");
                }
                SafetensorsWriter.write(array, target);
            } finally {
                if (isSnapshot) {
                    array.close();
                }
            }
        }
    }

    private final List<Entry> entries = new ArrayList<>();

    /** Adds an array, which must stay open. */
    void add(String name, NDArray array) {
        entries.add(new Entry(name, array.getShape(), array.getDataType(), () -> array, false));
    }

    /** Adds a parameter. Of heed's own, snapshots are taken one at a time, since each may take memory of its own. */
    void add(String name, Parameter parameter) {
        boolean isOwn = parameter instanceof LayerParameter;
        Shape shape = isOwn ? parameter.getShape() : null;
        DataType dataType = isOwn ? ((LayerParameter) parameter).getDataType() : null;
        if (shape == null || dataType == null) {
            add(name, parameter.getArray());
        } else {
            entries.add(new Entry(name, shape, dataType, parameter::getArray, true));
        }
    }

    /** Writes all of them, those with larger elements first, so that elements are aligned. */
    void write(Target target) throws IOException {
        entries.sort(Comparator.comparing((Entry each) -> -each.dataType.getNumOfBytes())
                .thenComparing(each -> each.name));
        target.write(header());
        for (Entry each : entries) {
            each.write(target);
        }
    }

    long numBytes() {
        return header().length + entries.stream().mapToLong(Entry::numBytes).sum();
    }

    private byte[] header() {
        // What Hugging Face's loaders ask for.
        StringBuilder json = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        long begin = 0;
        for (Entry each : entries) {
            long end = begin + each.numBytes();
            StringBuilder dims = new StringBuilder();
            for (long dim : each.shape.getShape()) {
                dims.append(dims.length() == 0 ? "" : ",").append(dim);
            }
            json.append(',').append(quoted(each.name))
                    .append(":{\"dtype\":\"").append(nameOf(each.dataType))
                    .append("\",\"shape\":[").append(dims)
                    .append("],\"data_offsets\":[").append(begin).append(',').append(end).append("]}");
            begin = end;
        }
        byte[] text = json.append('}').toString().getBytes(StandardCharsets.UTF_8);
        int length = (text.length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        ByteBuffer header = ByteBuffer.allocate(ALIGNMENT + length).order(ByteOrder.LITTLE_ENDIAN);
        header.putLong(length).put(text);
        while (header.hasRemaining()) {
            header.put((byte) ' ');
        }
        return header.array();
    }

    private static void write(NDArray array, Target target) throws IOException {
        long size = array.size();
        int numOfBytes = array.getDataType().getNumOfBytes();
        long most = PIECE_BYTES / numOfBytes;
        try (NativeTensor row = array.data().reshaped(size)) {
            for (long begin = 0; begin < size; begin += most) {
                long count = Math.min(most, size - begin);
                byte[] bytes = new byte[(int) count * numOfBytes];
                try (NativeTensor piece = row.slice(0, begin, count)) {
                    piece.read(bytes);
                }
                target.write(bytes);
            }
        }
    }

    private static String quoted(String name) {
        StringBuilder text = new StringBuilder("\"");
        for (char each : name.toCharArray()) {
            if (each < ' ') {
                text.append(String.format("\\u%04x", (int) each));
            } else {
                text.append(each == '"' || each == '\\' ? "\\" : "").append(each);
            }
        }
        return text.append('"').toString();
    }

    private static String nameOf(DataType type) {
        switch (type) {
            case BFLOAT16:
                return "BF16";
            case BOOLEAN:
                return "BOOL";
            default:
                String kind = type.isFloating() ? "F" : type == DataType.UINT8 ? "U" : "I";
                return kind + 8 * type.getNumOfBytes();
        }
    }
}
