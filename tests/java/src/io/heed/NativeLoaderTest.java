// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.LoaderJvm.WORKS_TWICE;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The system property, the system's folders, and the message if nothing is found. */
class NativeLoaderTest {
    private static final String FOLDER = System.getProperty(NativeLoader.PATH_PROPERTY);

    @TempDir
    private Path temporary;

    @Test
    void takesAFolderOrAFile() throws Exception {
        assertEquals(WORKS_TWICE, jvm("-Dheed.native.path=" + FOLDER).runTwice());
        assertEquals(WORKS_TWICE, jvm("-Dheed.native.path=" + Paths.get(FOLDER, "libheed_java.so")).runTwice());
        assertEquals(List.of(), Folders.names(temporary));
    }

    @Test
    void triesNothingElseThanThePath() throws Exception {
        Path folder = Files.createDirectory(temporary.resolve("natives"));
        String failure = jvm("-Dheed.native.path=" + folder, "-Djava.library.path=" + FOLDER).runTwice();
        assertFailure(failure, "heed.native.path, which is " + folder + ":", folder + "/libheed_java.so");

        Path missing = folder.resolve("missing.so");
        failure = jvm("-Dheed.native.path=" + missing, "-Djava.library.path=" + FOLDER).runTwice();
        assertFailure(failure, "heed.native.path, which is " + missing + ":");

        Files.write(folder.resolve("libheed_java.so"), new byte[] {1, 2, 3});
        assertFailure(jvm("-Dheed.native.path=" + folder).runTwice(), "heed.native.path, which is " + folder + ":");
    }

    @Test
    void saysThatTheWrapperLacksLibheed() throws Exception {
        Files.copy(Paths.get(FOLDER, "libheed_java.so"), temporary.resolve("libheed_java.so"));
        String failure = jvm("-Dheed.native.path=" + temporary).runTwice();
        assertFailure(failure, "heed.native.path, which is " + temporary + ":", "libheed.so.0: cannot open");
    }

    /** The system's loader would end the process. */
    @Test
    void refusesFilesThatAreCutShort() throws Exception {
        Path without = Jars.withoutNatives(temporary.resolve("without.jar"));
        Path folder = Files.createDirectory(temporary.resolve("natives"));
        for (String name : List.of("libheed.so.0", "libheed_java.so")) {
            byte[] whole = Files.readAllBytes(Paths.get(FOLDER, name));
            for (int numBytes : new int[] {64, 4096, whole.length / 2, whole.length - 1}) {
                for (String other : List.of("libheed.so.0", "libheed_java.so")) {
                    Files.copy(
                            Paths.get(FOLDER, other), folder.resolve(other), StandardCopyOption.REPLACE_EXISTING);
                }
                Files.write(folder.resolve(name), Arrays.copyOf(whole, numBytes));
                String sentence = folder.resolve(name) + " is cut short: its last ";
                assertFailure(jvm("-Dheed.native.path=" + folder).runTwice(), "which is " + folder, sentence);
                assertFailure(
                        new LoaderJvm(without).with("-Djava.library.path=/no/such/folder:" + folder).runTwice(),
                        "java.library.path, which is /no/such/folder:" + folder, sentence);
            }
        }
    }

    /** Even if LD_LIBRARY_PATH contains another libheed, as of an older installation. */
    @Test
    void usesTheLibheedInTheWrappersFolder() throws Exception {
        Files.write(temporary.resolve("libheed.so.0"), new byte[] {1, 2, 3});
        String[] environment = {"env", "LD_LIBRARY_PATH=" + temporary};
        assertEquals(WORKS_TWICE, jvm("-Dheed.native.path=" + FOLDER).through(environment).runTwice());
        assertEquals(WORKS_TWICE, jvm().through(environment).runTwice());
    }

    @Test
    void triesTheSystemIfTheJarHasNone() throws Exception {
        Path jar = Jars.withoutNatives(temporary.resolve("without.jar"));
        String works = new LoaderJvm(jar).with("-Djava.library.path=" + FOLDER).runTwice();
        assertEquals(WORKS_TWICE, works);

        String failure = new LoaderJvm(jar).with("-Djava.library.path=/no/such/folder").runTwice();
        assertFailure(
                failure, "heed.native.path, which is not set;",
                "the libraries in the jar: there is none for " + Platform.name(),
                "libheed_java.so in java.library.path, which is /no/such/folder:");
    }

    @Test
    void saysThatTheJarHasNoneForThisProcessor() throws Exception {
        String failure = jvm("-Dos.arch=pdp11", "-Djava.library.path=/no/such/folder").runTwice();
        assertTrue(failure.contains("for Linux pdp11 could not be loaded"), failure);
        assertTrue(failure.contains("there is none for linux-pdp11"), failure);
    }

    @Test
    void comparesVersions() {
        assertDoesNotThrow(() -> NativeLoader.checkVersion(Version.NUMBER, Version.TEXT));
        assertDoesNotThrow(() -> NativeLoader.checkVersion(Version.NUMBER + 1, "of a later patch"));
        UnsatisfiedLinkError error = assertThrows(
                UnsatisfiedLinkError.class, () -> NativeLoader.checkVersion(Version.NUMBER + 100, "9.9.9"));
        assertTrue(error.getMessage().contains("9.9.9"), error.getMessage());
        assertTrue(error.getMessage().contains(Version.TEXT), error.getMessage());
    }

    private LoaderJvm jvm(String... options) {
        return new LoaderJvm(LoaderJvm.heedJar()).in(temporary).with(options);
    }

    /** The message contains all of these, and the second attempt gives the same message. */
    private static void assertFailure(String output, String... parts) {
        String start = "heed's native library for " + System.getProperty("os.name") + " "
                + System.getProperty("os.arch") + " could not be loaded; tried: the system property heed.native.path";
        String[] lines = output.split("\n");
        assertEquals(2, lines.length, output);
        assertTrue(lines[0].startsWith(start), output);
        for (String part : parts) {
            assertTrue(lines[0].contains(part), output);
        }
        assertEquals(lines[0], lines[1]);
    }
}
