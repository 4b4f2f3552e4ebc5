// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds and loads the wrapper library; libheed is loaded with it. It tries these in order:
 *
 * <ol>
 *   <li>The system property heed.native.path: the path of the wrapper, or of the folder with it and libheed. If it is
 *       set, nothing else is tried.
 *   <li>The libraries in the jar. They are written once into a folder that is named by their checksums, and are
 *       compared with the jar each time, so that damaged or replaced files are never loaded. If that folder cannot be
 *       used (a second class loader cannot load a file that the first has loaded; another user may have made the
 *       folder), they are written into a new folder, which is removed afterwards. Both folders are below the folder of
 *       the system property heed.native.cache, or of java.io.tmpdir. If the jar is damaged, nothing else is tried.
 *   <li>The system: java.library.path.
 * </ol>
 *
 * <p>A loaded library must have the version of these classes. Each class loader has its own wrapper. libheed is loaded
 * once for the process, since the system's loader identifies it by its name.
 */
final class NativeLoader {
    static final String PATH_PROPERTY = "heed.native.path";
    static final String CACHE_PROPERTY = "heed.native.cache";
    private static final String WRAPPER = System.mapLibraryName("heed_java");
    /** The file name of libheed on Linux. */
    private static final String LIBRARY = System.mapLibraryName("heed") + "." + Version.NUMBER / 10000;
    /** glibc's message for a library in a folder whose files may not be executed. */
    private static final String NOEXEC = "failed to map segment";
    private static final String NOEXEC_ADVICE = "; a folder that is mounted noexec is of no use: "
            + "let the system property " + CACHE_PROPERTY + " name another";

    /**
     * The attempts that failed, in order. A JVM that does not allow a module native code throws IllegalCallerException.
     */
    private final List<String> sentences = new ArrayList<>();
    private final List<Throwable> causes = new ArrayList<>();

    private NativeLoader() {}

    /**
     * Throws an UnsatisfiedLinkError that lists everything that was tried. May be called again, also after a failure.
     */
    static void load() {
        NativeLoader loader = new NativeLoader();
        if (!loader.loadAny()) {
            throw loader.failure();
        }
        checkVersion(HeedNative.heed_version(), HeedNative.heed_version_string());
    }

    private boolean loadAny() {
        String path = System.getProperty(PATH_PROPERTY, "");
        if (!path.isEmpty()) {
            return loadPath(path);
        }
        sentences.add("the system property " + PATH_PROPERTY + ", which is not set");
        return loadFromJar() || loadFromSystem();
    }

    private boolean loadPath(String path) {
        String sentence = "the system property " + PATH_PROPERTY + ", which is " + path;
        try {
            Path file = Paths.get(path).toAbsolutePath();
            return loadFile(Files.isDirectory(file) ? file.resolve(WRAPPER) : file, sentence);
        } catch (InvalidPathException error) {
            return failed(sentence, error);
        }
    }

    private boolean loadFromJar() {
        try {
            BundledLibrary bundled = BundledLibrary.of(Platform.name());
            Path parent = cache();
            return loadFromSharedFolder(bundled, parent) || loadFromFreshFolder(bundled, parent);
        } catch (IOException | InvalidPathException error) {
            return failed("the libraries in the jar", error);
        }
    }

    private static Path cache() throws IOException {
        String name = System.getProperty(CACHE_PROPERTY, "");
        Path folder = Paths.get(name.isEmpty() ? System.getProperty("java.io.tmpdir") : name).toAbsolutePath();
        // Before Java 20, createDirectories fails for a link to a folder.
        return Files.isDirectory(folder) ? folder : Files.createDirectories(folder);
    }

    private boolean loadFromSharedFolder(BundledLibrary bundled, Path parent) {
        String user = System.getProperty("user.name").replaceAll("[^A-Za-z0-9._-]", "_");
        Path folder = parent.resolve("heed-" + user + "-" + bundled.id());
        String sentence = "the libraries in the jar, written to " + folder;
        try {
            OwnFolder.make(folder);
            bundled.extractTo(folder);
        } catch (IOException error) {
            return failed(sentence, error);
        }
        return loadFile(folder.resolve(WRAPPER), sentence);
    }

    private boolean loadFromFreshFolder(BundledLibrary bundled, Path parent) {
        String sentence = "the same, written to a fresh folder in " + parent;
        Path folder;
        try {
            folder = Files.createTempDirectory(parent, "heed-");
        } catch (IOException error) {
            return failed(sentence, error);
        }
        try {
            bundled.extractTo(folder);
            return loadFile(folder.resolve(WRAPPER), sentence);
        } catch (IOException error) {
            return failed(sentence, error);
        } finally {
            OwnFolder.remove(folder, bundled.files());
        }
    }

    private boolean loadFromSystem() {
        String path = System.getProperty("java.library.path", "");
        try {
            for (String folder : path.split(File.pathSeparator)) {
                checkWhole(Paths.get(folder, WRAPPER));
                checkWhole(Paths.get(folder, LIBRARY));
            }
            System.loadLibrary("heed_java");
            return true;
        } catch (InvalidPathException | UnsatisfiedLinkError | IllegalCallerException error) {
            return failed(WRAPPER + " in java.library.path, which is " + path, error);
        }
    }

    private boolean loadFile(Path wrapper, String sentence) {
        try {
            checkWhole(wrapper);
            checkWhole(wrapper.resolveSibling(LIBRARY));
            System.load(wrapper.toString());
            return true;
        } catch (UnsatisfiedLinkError | IllegalCallerException error) {
            return failed(sentence, error);
        }
    }

    private static void checkWhole(Path file) {
        long missing = 0;
        try {
            missing = Files.exists(file) ? ElfFile.numMissingBytes(file) : 0;
        } catch (IOException error) {
            // The system's loader reports the reason.
        }
        if (missing > 0) {
            throw new UnsatisfiedLinkError(file + " is cut short: its last " + missing + " bytes are missing");
        }
    }

    private boolean failed(String sentence, Throwable cause) {
        // The message of some exceptions is only the name of the file.
        boolean bare = cause instanceof FileSystemException && ((FileSystemException) cause).getReason() == null;
        sentences.add(sentence + ": " + (bare ? cause : cause.getMessage()));
        causes.add(cause);
        return false;
    }

    private UnsatisfiedLinkError failure() {
        String tried = String.join("; ", sentences);
        UnsatisfiedLinkError error = failure("tried: " + tried + (tried.contains(NOEXEC) ? NOEXEC_ADVICE : ""));
        causes.forEach(error::addSuppressed);
        return error;
    }

    static UnsatisfiedLinkError failure(String sentence) {
        return new UnsatisfiedLinkError(
                "heed's native library for " + System.getProperty("os.name") + " " + System.getProperty("os.arch")
                        + " could not be loaded; " + sentence);
    }

    /** Before 1.0, another minor version may have another interface; another patch never does. */
    static void checkVersion(int number, String text) {
        if (number / 100 != Version.NUMBER / 100) {
            throw failure("the library is version " + text + ", but these Java classes are of version " + Version.TEXT);
        }
    }
}
