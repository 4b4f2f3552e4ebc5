// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Named arrays as the bytes of a .safetensors file: a number of 8 bytes, as long a header of JSON, the elements. */
final class SafetensorsWriter {
    /** Takes the bytes in their order. */
    interface Target {
        void write(byte[] bytes) throws IOException;
    }

    private static final int ALIGNMENT = 8;
    /** An array may have more bytes than a Java array. */
    private static final int PIECE_BYTES = 1 << 20;

    private final List<Pair<String, NDArray>> arrays = new ArrayList<>();

    /** Adds an array, which must stay open. */
    void add(String name, NDArray array) {
        arrays.add(new Pair<>(name, array));
    }

    /** Writes all of them, those with larger elements first, so that elements are aligned. */
    void write(Target target) throws IOException {
        arrays.sort(Comparator.comparing((Pair<String, NDArray> each) ->
                        -each.getValue().getDataType().getNumOfBytes())
                .thenComparing(Pair::getKey));
        target.write(header());
        for (Pair<String, NDArray> each : arrays) {
            write(each.getValue(), target);
        }
    }

    long numBytes() {
        return header().length + arrays.stream().mapToLong(each -> numBytesOf(each.getValue())).sum();
    }

    private byte[] header() {
        // What Hugging Face's loaders ask for.
        StringBuilder json = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        long begin = 0;
        for (Pair<String, NDArray> each : arrays) {
            NDArray array = each.getValue();
            long end = begin + numBytesOf(array);
            StringBuilder dims = new StringBuilder();
            for (long dim : array.getShape().getShape()) {
                dims.append(dims.length() == 0 ? "" : ",").append(dim);
            }
            json.append(',').append(quoted(each.getKey()))
                    .append(":{\"dtype\":\"").append(nameOf(array.getDataType()))
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

    private static long numBytesOf(NDArray array) {
        return array.size() * array.getDataType().getNumOfBytes();
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
