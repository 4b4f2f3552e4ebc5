// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;

/** Text as the native wrapper takes it: UTF-8 with a terminating zero, in a direct buffer. */
final class NativeText {
    private NativeText() {}

    static ByteBuffer of(String text, String name) {
        Objects.requireNonNull(text, name);
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException(name + " contains a zero character");
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocateDirect(bytes.length + 1).put(bytes);
    }

    /** A path of the default file system, the only one that native code can open. */
    static ByteBuffer of(Path path) {
        Objects.requireNonNull(path, "path");
        return of(path.toFile().getPath(), "path");
    }
}
