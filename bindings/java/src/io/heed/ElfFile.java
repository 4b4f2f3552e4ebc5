// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A shared library as a file. The system's loader maps a truncated file without an error, and the process ends when it
 * accesses the missing part.
 */
final class ElfFile {
    private static final int HEADER_BYTES = 64;
    private static final int SEGMENT_BYTES = 56;
    private static final int SECTION_BYTES = 64;
    private static final int LOADED_SEGMENT = 1;
    /** The first bytes of a 64-bit little-endian file. */
    private static final ByteBuffer MAGIC = ByteBuffer.wrap(new byte[] {0x7f, 'E', 'L', 'F', 2, 1});

    private ElfFile() {}

    /**
     * The number of bytes that are missing at the end; 0 if none are missing, or if the system's loader refuses the
     * file itself.
     */
    static long numMissingBytes(Path file) throws IOException {
        try (SeekableByteChannel channel = Files.newByteChannel(file)) {
            ByteBuffer header = read(channel, 0, HEADER_BYTES);
            boolean isElf = header.limit() == HEADER_BYTES
                    && header.slice().limit(MAGIC.limit()).equals(MAGIC)
                    && header.getShort(54) == SEGMENT_BYTES;
            if (!isElf) {
                return 0;
            }
            long segments = header.getLong(32);
            int numSegments = Short.toUnsignedInt(header.getShort(56));
            // Linkers write the section table last.
            long end = Math.max(
                    segments + (long) numSegments * SEGMENT_BYTES,
                    header.getLong(40) + (long) Short.toUnsignedInt(header.getShort(60)) * SECTION_BYTES);
            if (segments >= HEADER_BYTES && end <= channel.size()) {
                ByteBuffer table = read(channel, segments, numSegments * SEGMENT_BYTES);
                for (int at = 0; at + SEGMENT_BYTES <= table.limit(); at += SEGMENT_BYTES) {
                    if (table.getInt(at) == LOADED_SEGMENT) {
                        end = Math.max(end, table.getLong(at + 8) + table.getLong(at + 32));
                    }
                }
            }
            return Math.max(0, end - channel.size());
        }
    }

    /** Reads `count` bytes, or fewer if the file ends before. */
    private static ByteBuffer read(SeekableByteChannel channel, long position, int count) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        channel.position(position);
        while (bytes.hasRemaining() && channel.read(bytes) >= 0) {}
        return bytes.flip();
    }
}
