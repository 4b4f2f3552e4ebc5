// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Named arrays as the bytes of a .safetensors file: a number of 8 bytes, as long a header of JSON, the elements. */
final class SafetensorsWriter {
    private static final int ALIGNMENT = 8;

    private final List<Pair<String, NDArray>> arrays = new ArrayList<>();

    /** Adds an array, which must stay open. */
    void add(String name, NDArray array) {
        arrays.add(new Pair<>(name, array));
    }

    /** Writes all of them, those with larger elements first, so that elements are aligned. */
    void write(WritableByteChannel channel) throws IOException {
        arrays.sort(Comparator.comparing((Pair<String, NDArray> each) ->
                        -each.getValue().getDataType().getNumOfBytes())
                .thenComparing(Pair::getKey));
        write(header(), channel);
        for (Pair<String, NDArray> each : arrays) {
            write(each.getValue().toByteBuffer(), channel);
        }
    }

    long numBytes() {
        return header().remaining() + arrays.stream().mapToLong(each -> numBytesOf(each.getValue())).sum();
    }

    private ByteBuffer header() {
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
        header.flip();
        return header;
    }

    private static long numBytesOf(NDArray array) {
        return array.size() * array.getDataType().getNumOfBytes();
    }

    private static void write(ByteBuffer bytes, WritableByteChannel channel) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
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
