// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.io.UTFDataFormatException;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;

/**
 * Reads the values that {@link ParameterFile} and {@link EncodedList} write, and no bytes after them. Each method takes
 * the name of the value, for the EOFException if the stream ends before it is complete.
 */
final class ParameterReader {
    private final CheckedInputStream stream;
    private long numBytes;

    ParameterReader(InputStream stream) {
        this.stream = new CheckedInputStream(stream, new CRC32());
    }

    /** The checksum of all bytes that were read. */
    int checksum() {
        return (int) stream.getChecksum().getValue();
    }

    byte readByte(String what) throws IOException {
        return read(Byte.BYTES, what)[0];
    }

    int readInt(String what) throws IOException {
        return ByteBuffer.wrap(read(Integer.BYTES, what)).getInt();
    }

    long readLong(String what) throws IOException {
        return ByteBuffer.wrap(read(Long.BYTES, what)).getLong();
    }

    /** Reads a text as {@link java.io.DataOutputStream#writeUTF} writes it. */
    String readText(String what) throws IOException, MalformedModelException {
        byte[] length = read(Short.BYTES, "the length of " + what);
        byte[] text = read(Short.toUnsignedInt(ByteBuffer.wrap(length).getShort()), what);
        InputStream both = new SequenceInputStream(new ByteArrayInputStream(length), new ByteArrayInputStream(text));
        try {
            return new DataInputStream(both).readUTF();
        } catch (UTFDataFormatException error) {
            throw new MalformedModelException("the stream has a name that is no text", error);
        }
    }

    static void checkCount(int count) throws MalformedModelException {
        if (count < 0) {
            throw new MalformedModelException("the stream has a count of " + count);
        }
    }

    /** Reads a count, and then as many bytes. */
    ByteBuffer readBytes(String what) throws IOException, MalformedModelException {
        int count = readInt("the length of " + what);
        checkCount(count);
        ByteBuffer bytes = Streams.read(stream, count);
        checkEnd(bytes.limit(), count, what);
        return bytes;
    }

    private byte[] read(int wanted, String what) throws IOException {
        byte[] bytes = stream.readNBytes(wanted);
        checkEnd(bytes.length, wanted, what);
        return bytes;
    }

    private void checkEnd(int found, int wanted, String what) throws EOFException {
        numBytes += found;
        if (found < wanted) {
            throw new EOFException("the stream ends after " + numBytes + (numBytes == 1 ? " byte" : " bytes")
                    + ", and lacks " + (found == 0 ? "" : wanted - found + " of the " + wanted + " bytes of ") + what);
        }
    }
}
