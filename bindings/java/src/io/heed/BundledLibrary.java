// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;

/**
 * The files of the native library in the jar for one platform. An existing file in a folder is compared with the file
 * in the jar, which is cheap. The file in the jar is compared with its checksum only when a file is written.
 */
final class BundledLibrary {
    /** A list as sha256sum writes it: each line has a checksum, two spaces and a name. */
    private static final String LIST = "SHA256SUMS";
    private static final String LINE = "[0-9a-f]{64}  [A-Za-z0-9_][A-Za-z0-9_.-]*";
    private static final int NAME_COLUMN = 66;
    private static final int ID_DIGITS = 16;

    private final String folder;
    private final Map<String, String> checksums = new LinkedHashMap<>();

    private BundledLibrary(String folder, byte[] list) {
        this.folder = folder;
        for (String line : new String(list, StandardCharsets.US_ASCII).split("\n")) {
            if (!line.matches(LINE)) {
                throw damaged(LIST, "the line '" + line + "' is no checksum and name");
            }
            checksums.put(line.substring(NAME_COLUMN), line.substring(0, NAME_COLUMN - 2));
        }
    }

    /** Throws an exception with the reason if the jar has no library for the platform. */
    static BundledLibrary of(String platform) throws IOException {
        String folder = "/io/heed/native/" + platform + "/";
        try (InputStream list = BundledLibrary.class.getResourceAsStream(folder + LIST)) {
            if (list == null) {
                throw new IOException("there is none for " + platform + ", since " + folder + LIST + " is not there");
            }
            return new BundledLibrary(folder, list.readAllBytes());
        }
    }

    /** A name made from the content of all files, so that other content has another name. */
    String id() {
        StringJoiner id = new StringJoiner("-");
        for (String checksum : checksums.values()) {
            id.add(checksum.substring(0, ID_DIGITS));
        }
        return id.toString();
    }

    Set<String> files() {
        return checksums.keySet();
    }

    /**
     * Writes the files that are missing in the folder or differ from those in the jar. A file gets its name only when
     * it is complete, so many processes may do this at once. A process that has loaded the old file keeps it.
     */
    void extractTo(Path target) throws IOException {
        for (String name : checksums.keySet()) {
            Path file = target.resolve(name);
            byte[] bytes = read(name);
            if (!holds(file, bytes)) {
                checkSum(name, bytes);
                write(bytes, file);
                if (!holds(file, bytes)) {
                    throw new IOException(file + " is not what was written there");
                }
            }
        }
    }

    private static boolean holds(Path file, byte[] bytes) throws IOException {
        return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && Arrays.equals(bytes, Files.readAllBytes(file));
    }

    private byte[] read(String name) throws IOException {
        try (InputStream resource = BundledLibrary.class.getResourceAsStream(folder + name)) {
            if (resource == null) {
                throw damaged(name, "it is not there");
            }
            return resource.readAllBytes();
        }
    }

    private void checkSum(String name, byte[] bytes) {
        String actual = Checksum.of(bytes);
        String expected = checksums.get(name);
        if (!actual.equals(expected)) {
            throw damaged(
                    name, "the SHA-256 of its " + bytes.length + " bytes is " + actual + ", but " + LIST + " says "
                            + expected);
        }
    }

    private static void write(byte[] bytes, Path file) throws IOException {
        Path unfinished = Files.createTempFile(file.getParent(), file.getFileName().toString(), ".part");
        try {
            Files.write(unfinished, bytes);
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    /** The loader then tries no other folder: a jar that differs from the one that was built cannot be trusted. */
    private UnsatisfiedLinkError damaged(String name, String how) {
        return NativeLoader.failure("the jar is damaged at " + folder + name + ": " + how);
    }
}
