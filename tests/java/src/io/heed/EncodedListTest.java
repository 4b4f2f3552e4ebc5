// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;

import org.junit.jupiter.api.Test;

/** Damaged bytes of a list, and streams that fail. tests/bindings/cases/encoded_list.txt tests the format. */
class EncodedListTest {
    /** Any changed byte is refused or gives arrays; the process does not end. */
    @Test
    void damageDoesNotEndTheProcess() throws IOException {
        byte[] encoded = Files.readAllBytes(TestFiles.data("array_list.bin"));
        try (NDManager manager = TestDevice.newManager()) {
            for (int bit = 0; bit < 8 * encoded.length; bit++) {
                byte[] damaged = encoded.clone();
                damaged[bit / 8] ^= (byte) (1 << bit % 8);
                try {
                    NDList.decode(manager, damaged).close();
                } catch (IllegalArgumentException | UnsupportedOperationException error) {
                    assertTrue(error.getMessage().length() < 200, error.getMessage());
                }
            }
        }
    }

    @Test
    void failuresOfTheStreamArePassedOn() {
        InputStream failing = new InputStream() {
            @Override
            public int read() throws IOException {
                throw new IOException("gone");
            }
        };
        try (NDManager manager = TestDevice.newManager()) {
            UncheckedIOException error =
                    assertThrows(UncheckedIOException.class, () -> NDList.decode(manager, failing));
            assertEquals("gone", error.getCause().getMessage());
        }
    }
}
