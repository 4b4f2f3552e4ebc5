// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Copies bytes between Java's streams and direct buffers. */
final class Streams {
    private static final int PIECE_BYTES = 1 << 16;

    private Streams() {}

    /**
     * Reads a number of bytes, or fewer if the stream ends early. Memory is allocated as bytes arrive, not for the
     * whole requested number at once.
     */
    static ByteBuffer read(InputStream stream, int most) throws IOException {
        List<byte[]> pieces = new ArrayList<>();
        int total = 0;
        while (total < most) {
            byte[] piece = stream.readNBytes(Math.min(PIECE_BYTES, most - total));
            if (piece.length == 0) {
                break;
            }
            pieces.add(piece);
            total += piece.length;
        }
        ByteBuffer bytes = ByteBuffer.allocateDirect(total);
        pieces.forEach(bytes::put);
        bytes.flip();
        return bytes;
    }

    /** Writes all bytes of a buffer. */
    static void write(ByteBuffer bytes, OutputStream stream) throws IOException {
        byte[] piece = new byte[Math.min(PIECE_BYTES, bytes.limit())];
        ByteBuffer rest = bytes.duplicate();
        rest.rewind();
        while (rest.hasRemaining()) {
            int length = Math.min(piece.length, rest.remaining());
            rest.get(piece, 0, length);
            stream.write(piece, 0, length);
        }
    }
}
