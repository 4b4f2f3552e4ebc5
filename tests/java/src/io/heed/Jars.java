// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.function.UnaryOperator;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** Damaged copies of heed's jar. */
final class Jars {
    static final String LIST = "SHA256SUMS";

    private Jars() {}

    /** A copy of heed's jar with one of the native files changed; null leaves it out. */
    static Path with(Path copy, String name, UnaryOperator<byte[]> change) throws IOException {
        String changed = "io/heed/native/" + Platform.name() + "/" + name;
        boolean found = false;
        try (ZipFile from = new ZipFile(LoaderJvm.heedJar().toFile());
                ZipOutputStream to = new ZipOutputStream(Files.newOutputStream(copy))) {
            // Without compression, which would take most of the time: the native libraries are large.
            to.setLevel(Deflater.NO_COMPRESSION);
            for (ZipEntry entry : Collections.list(from.entries())) {
                byte[] bytes = from.getInputStream(entry).readAllBytes();
                if (entry.getName().equals(changed)) {
                    found = true;
                    bytes = change.apply(bytes);
                }
                if (bytes != null) {
                    to.putNextEntry(new ZipEntry(entry.getName()));
                    to.write(bytes);
                    to.closeEntry();
                }
            }
        }
        if (!found) {
            throw new AssertionError("the jar has no " + changed);
        }
        return copy;
    }

    /** A copy without the native libraries. */
    static Path withoutNatives(Path copy) throws IOException {
        return with(copy, LIST, bytes -> null);
    }
}
