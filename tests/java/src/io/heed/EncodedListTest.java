// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The bytes of a list: DJL's format. make_array_list.py has written the files without heed. */
class EncodedListTest {
    private final NDManager manager = TestDevice.newManager();
    private final byte[] encoded = read("array_list.bin");

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void readsAndWritesTheBytesOfDjl() throws IOException {
        NDList list = NDList.decode(manager, encoded);
        assertEquals(5, list.size());
        assertEquals("größe €\ud834\udd1e", list.get(0).getName());
        assertEquals(new Shape(2, 3), list.get(0).getShape());
        assertArrayEquals(new float[] {1, -2.5f, 3, 0.1f, 5, 6}, list.get(0).toFloatArray());
        assertNull(list.get(1).getName());
        assertEquals(-(1L << 40), list.get(1).getLong());
        assertEquals("", list.get(2).getName());
        assertEquals(DataType.BFLOAT16, list.get(2).getDataType());
        assertArrayEquals(new float[] {1, -2.5f}, list.get(2).toFloatArray());
        assertArrayEquals(new boolean[] {true, false, true}, list.get(3).toBooleanArray());
        assertEquals(new Shape(0, 2), list.get(4).getShape());
        assertSame(manager, list.getManager());
        assertArrayEquals(encoded, list.encode());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        list.encode(bytes);
        assertArrayEquals(encoded, bytes.toByteArray());
    }

    @Test
    void readsEarlierVersionsAndTheOtherByteOrder() {
        NDList list = NDList.decode(manager, read("array_list_old.bin"));
        assertEquals(3, list.size());
        assertArrayEquals(new byte[] {1, -1}, list.get(0).toByteArray());
        assertEquals("second", list.get(1).getName());
        assertArrayEquals(new byte[] {2, -2}, list.get(1).toByteArray());
        assertArrayEquals(new int[] {7, -8}, list.get(2).toIntArray());
    }

    @Test
    void writesViewsAndEmptyLists() {
        NDArray array = manager.create(new int[] {1, 2, 3, 4, 5, 6}, new Shape(2, 3));
        NDList found = NDList.decode(manager, new NDList(array.transpose(), array.get(1)).encode());
        assertArrayEquals(new int[] {1, 4, 2, 5, 3, 6}, found.get(0).toIntArray());
        assertArrayEquals(new int[] {4, 5, 6}, found.get(1).toIntArray());
        assertArrayEquals(new byte[4], new NDList().encode());
        assertEquals(0, NDList.decode(manager, new byte[4]).size());
    }

    @Test
    void readsOneListOfAStream() {
        byte[] twice = Arrays.copyOf(encoded, 2 * encoded.length + 1);
        System.arraycopy(encoded, 0, twice, encoded.length, encoded.length);
        ByteArrayInputStream stream = new ByteArrayInputStream(twice);
        assertEquals(5, NDList.decode(manager, stream).size());
        assertEquals(5, NDList.decode(manager, stream).size());
        assertEquals(1, stream.available());
        assertEquals(
                "byteArray has " + (encoded.length + 1) + " bytes after its list, expected none",
                refused(IllegalArgumentException.class, twice));
    }

    @Test
    void truncatedListsAreRefusedWithWhatIsMissing() {
        for (int length = 0; length < encoded.length; length++) {
            String sentence = refused(IllegalArgumentException.class, Arrays.copyOf(encoded, length));
            String start = "the stream ends after " + length + (length == 1 ? " byte" : " bytes") + ", and lacks ";
            assertTrue(sentence.startsWith(start), sentence);
        }
        assertEquals(
                "the stream ends after 3 bytes, and lacks 1 of the 4 bytes of the number of arrays",
                refused(IllegalArgumentException.class, Arrays.copyOf(encoded, 3)));
        int elements = indexOf("<") + 5;
        assertEquals(
                "the stream ends after " + (elements + 20) + " bytes, and lacks 4 of the 24 bytes of the elements of "
                        + "array 0",
                refused(IllegalArgumentException.class, Arrays.copyOf(encoded, elements + 20)));
    }

    @Test
    void bytesThatAreNotAListAreRefused() {
        assertEquals(
                "the stream is not what encode writes: array 0 does not begin with \"NDAR\"; NDManager.load reads .npy "
                        + "and .safetensors files",
                refused(IllegalArgumentException.class, changed("NDAR", "NDAX")));
        assertEquals("the stream has a count of -1", refused(IllegalArgumentException.class, new byte[] {-1, -1, -1, -1}));
        assertEquals(
                "array 0 has the format \"CSR??\", expected \"DENSE\"",
                refused(UnsupportedOperationException.class, changed("DENSE", "CSR\0\n")));
        assertEquals(
                "array 0 has elements of the type \"STRING1\", expected one of those of DataType",
                refused(UnsupportedOperationException.class, changed("FLOAT32", "STRING1")));
        assertEquals(
                "array 0 has 24 bytes of elements, which do not fit FLOAT64 and the shape (2, 3)",
                refused(IllegalArgumentException.class, changed("FLOAT32", "FLOAT64")));
        assertEquals(
                "array 0 has the byte order 61, expected 60 for little-endian or 62 for big-endian",
                refused(IllegalArgumentException.class, changed("<", "=")));
        byte[] later = encoded.clone();
        later[13] = 4;
        assertEquals("array 0 is of version 4, expected 1 to 3", refused(UnsupportedOperationException.class, later));
        int shape = indexOf("FLOAT32") + 7;
        byte[] negative = encoded.clone();
        negative[shape + 4] = -128;
        assertEquals(
                "axis 0 of array 0 has the size -9223372036854775806, expected 0 or more",
                refused(IllegalArgumentException.class, negative));
        byte[] axes = encoded.clone();
        axes[shape + 3] = 9;
        assertEquals("array 0 has 9 axes, expected 0 to 8", refused(IllegalArgumentException.class, axes));
        byte[] layouts = encoded.clone();
        layouts[shape + 4 + 2 * 8 + 3] = 1;
        assertEquals("array 0 has layouts for 1 axes, expected 2", refused(IllegalArgumentException.class, layouts));
        byte[] large = encoded.clone();
        large[shape + 4] = 127;
        assertTrue(refused(IllegalArgumentException.class, large).endsWith("and the shape (9151314442816847874, 3)"));
        byte[] empty = encoded.clone();
        empty[indexOf("FLOAT64") + 7 + 4 + 8] = 16;
        String sentence = refused(IllegalArgumentException.class, empty);
        assertTrue(sentence.startsWith("array 4 has the shape (0, 1152921504606846978): "), sentence);
    }

    /** Any changed byte is refused or gives arrays; the process does not end. */
    @Test
    void damageDoesNotEndTheProcess() {
        for (int place = 0; place < encoded.length; place++) {
            for (int bit = 0; bit < 8; bit++) {
                byte[] damaged = encoded.clone();
                damaged[place] ^= (byte) (1 << bit);
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
        UncheckedIOException error =
                assertThrows(UncheckedIOException.class, () -> NDList.decode(manager, failing));
        assertEquals("gone", error.getCause().getMessage());
    }

    private <T extends RuntimeException> String refused(Class<T> type, byte[] bytes) {
        return assertThrows(type, () -> NDList.decode(manager, bytes)).getMessage();
    }

    private byte[] changed(String before, String after) {
        byte[] bytes = encoded.clone();
        byte[] put = after.getBytes(StandardCharsets.ISO_8859_1);
        System.arraycopy(put, 0, bytes, indexOf(before), put.length);
        return bytes;
    }

    private int indexOf(String text) {
        return new String(encoded, StandardCharsets.ISO_8859_1).indexOf(text);
    }

    private static byte[] read(String name) {
        try {
            return Files.readAllBytes(TestFiles.data(name));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
