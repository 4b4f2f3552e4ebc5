// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Random;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ElfFileTest {
    private static final int HEADER_BYTES = 64;
    private static final Path WRAPPER = Paths.get(System.getProperty(NativeLoader.PATH_PROPERTY), "libheed_java.so");

    @TempDir
    private Path temporary;

    @Test
    void countsWhatIsMissing() throws IOException {
        byte[] whole = Files.readAllBytes(WRAPPER);
        assertEquals(0, ElfFile.numMissingBytes(WRAPPER));
        assertEquals(0, missing(Arrays.copyOf(whole, whole.length + 1)));
        assertEquals(1, missing(Arrays.copyOf(whole, whole.length - 1)));
        assertEquals(whole.length - HEADER_BYTES, missing(Arrays.copyOf(whole, HEADER_BYTES)));
    }

    @Test
    void acceptsOtherFiles() throws IOException {
        byte[] whole = Files.readAllBytes(WRAPPER);
        assertEquals(0, missing(new byte[0]));
        assertEquals(0, missing(Arrays.copyOf(whole, HEADER_BYTES - 1)));
        byte[] of32Bits = Arrays.copyOf(whole, HEADER_BYTES);
        of32Bits[4] = 1;
        assertEquals(0, missing(of32Bits));
        assertEquals(0, missing("#!/bin/sh\n".repeat(100).getBytes()));
    }

    /** Whatever the header contains, the result is a number. */
    @Test
    void survivesAnyHeader() throws IOException {
        byte[] whole = Files.readAllBytes(WRAPPER);
        Random random = new Random(1);
        for (int i = 0; i < 2000; i++) {
            byte[] bytes = Arrays.copyOf(whole, 4096);
            for (int change = random.nextInt(4); change >= 0; change--) {
                int at = 16 + random.nextInt(HEADER_BYTES * 6 - 16);
                bytes[at] = (byte) (random.nextBoolean() ? -1 : random.nextInt());
            }
            assertTrue(missing(bytes) >= 0);
        }
    }

    private long missing(byte[] bytes) throws IOException {
        return ElfFile.numMissingBytes(Files.write(temporary.resolve("library.so"), bytes));
    }
}
