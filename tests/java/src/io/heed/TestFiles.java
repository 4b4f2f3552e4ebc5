// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Files for tests. */
final class TestFiles {
    private TestFiles() {}

    /** A file with weights, inputs and PyTorch's output. */
    static Path golden(String name) {
        return data(name + ".safetensors");
    }

    /** Any file of tests/golden/data. */
    static Path data(String name) {
        return Paths.get(System.getProperty("heed.golden"), name);
    }

    /** Writes a .safetensors file with this header and data. */
    static Path write(Path file, String header, byte... data) {
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(8 + text.length + data.length).order(ByteOrder.LITTLE_ENDIAN);
        try {
            return Files.write(file, bytes.putLong(text.length).put(text).put(data).array());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
