// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;

/** Text in the form of the native wrapper: UTF-8 with a terminating zero, in a direct buffer. */
final class NativeText {
    /**
     * A call that writes text to a buffer and returns the bytes that the whole text needs. With a null buffer it only
     * returns these.
     */
    interface Call {
        long write(ByteBuffer text, long capacity);
    }

    private NativeText() {}

    static ByteBuffer of(String text, String name) {
        Objects.requireNonNull(text, name);
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException(name + " contains a zero character");
        }
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return ByteBuffer.allocateDirect(bytes.remaining() + 1).put(bytes);
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException(
                    name + " contains one half of a surrogate pair without the other, which is no text", error);
        }
    }

    /** A text of the native library, which is in UTF-8. */
    static String of(byte[] text) {
        return new String(text, StandardCharsets.UTF_8);
    }

    /** A path of the default file system, which is the only one that native code can open. */
    static ByteBuffer of(Path path) {
        Objects.requireNonNull(path, "path");
        return of(path.toFile().getPath(), "path");
    }

    /** Returns the whole text of a call, which may become longer between the query of its size and the call. */
    static String from(Call call) {
        long numBytes = call.write(null, 0);
        for (;;) {
            ByteBuffer text = ByteBuffer.allocateDirect(Math.toIntExact(numBytes));
            numBytes = call.write(text, text.capacity());
            if (numBytes <= text.capacity()) {
                return StandardCharsets.UTF_8.decode(text.limit((int) numBytes - 1)).toString();
            }
        }
    }
}
