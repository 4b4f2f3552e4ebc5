// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Finds and loads the wrapper library, which brings libheed with it.
 *
 * <p>If the system property heed.native.path is set, it names the wrapper or the folder that holds it, and nothing else
 * is tried. Otherwise the system is asked: java.library.path.
 */
final class NativeLoader {
    static final String PATH_PROPERTY = "heed.native.path";
    private static final String LIBRARY = "heed_java";

    private NativeLoader() {}

    static void load() {
        String path = System.getProperty(PATH_PROPERTY);
        if (path != null && !path.isEmpty()) {
            loadFile(path);
        } else {
            loadFromSystem();
        }
        checkVersion(HeedNative.heed_version(), HeedNative.heed_version_string());
    }

    private static void loadFile(String path) {
        Path file = Paths.get(path).toAbsolutePath();
        if (Files.isDirectory(file)) {
            file = file.resolve(System.mapLibraryName(LIBRARY));
        }
        try {
            System.load(file.toString());
        } catch (UnsatisfiedLinkError error) {
            throw failure(
                    "the system property " + PATH_PROPERTY + " is " + path + ", and " + file + " could not be loaded: "
                            + error.getMessage(),
                    error);
        }
    }

    private static void loadFromSystem() {
        try {
            System.loadLibrary(LIBRARY);
        } catch (UnsatisfiedLinkError error) {
            throw failure(
                    "tried: the system property " + PATH_PROPERTY + ", which is not set; "
                            + System.mapLibraryName(LIBRARY) + " in java.library.path, which is "
                            + System.getProperty("java.library.path") + ": " + error.getMessage(),
                    error);
        }
    }

    /** Before 1.0 another minor version may be another interface; a patch never is. */
    static void checkVersion(int number, String text) {
        if (number / 100 != Version.NUMBER / 100) {
            throw failure(
                    "the library is version " + text + ", but these Java classes are of version " + Version.TEXT, null);
        }
    }

    private static UnsatisfiedLinkError failure(String sentence, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(
                "heed's native library for " + System.getProperty("os.name") + " " + System.getProperty("os.arch")
                        + " could not be loaded; " + sentence);
        error.initCause(cause);
        return error;
    }
}
