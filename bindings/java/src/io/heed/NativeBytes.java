// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** The bytes of a stream in native memory, which neither Java's heap nor the size of its arrays limits. */
final class NativeBytes implements AutoCloseable {
    private static final int PIECE_BYTES = 1 << 20;

    /** Bytes of UINT8, of which the first {@link #length} have been read. */
    private NativeTensor memory;

    private long capacity;
    private long length;

    /** Makes memory without bytes, which grows if it gets more than this number. */
    NativeBytes(long numBytes) {
        memory = newMemory(numBytes);
        capacity = numBytes;
    }

    /**
     * Reads to the end of the stream, or until this thread is interrupted. Memory is allocated as bytes arrive, not by
     * the size that a file states.
     */
    static NativeBytes readAll(InputStream stream) throws IOException {
        NativeBytes bytes = new NativeBytes(PIECE_BYTES);
        InputStream stopped = StoppedCalls.stopped(stream);
        try {
            for (;;) {
                byte[] piece = stopped.readNBytes(PIECE_BYTES);
                if (piece.length == 0) {
                    return bytes;
                }
                bytes.append(piece);
            }
        } catch (Throwable error) {
            bytes.close();
            throw error;
        }
    }

    void append(byte[] piece) {
        while (piece.length > capacity - length) {
            grow();
        }
        try (NativeTensor place = memory.slice(0, length, piece.length)) {
            place.write(piece);
        }
        length += piece.length;
    }

    long length() {
        return length;
    }

    /** A buffer that begins where the bytes do. It is shorter than they are if no buffer can be as long. */
    ByteBuffer begin() {
        try (NativeTensor first = memory.slice(0, 0, Math.min(capacity, PIECE_BYTES))) {
            return first.data();
        }
    }

    /** Frees the bytes. */
    @Override
    public void close() {
        memory.close();
    }

    private static NativeTensor newMemory(long numBytes) {
        return NativeTensor.create(Library.context(), DataType.UINT8.code, new long[] {numBytes});
    }

    private void grow() {
        NativeTensor larger = newMemory(2 * capacity);
        try (NativeTensor before = memory;
                NativeTensor copy = larger.slice(0, 0, capacity)) {
            copy.copy(before);
        } catch (Throwable error) {
            larger.close();
            throw error;
        }
        memory = larger;
        capacity *= 2;
    }
}
