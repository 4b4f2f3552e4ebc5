// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process loads the library once, so each case is a process of its own. */
class NativeLoaderTest {
    private static final String FOLDER = System.getProperty(NativeLoader.PATH_PROPERTY);

    /** What the processes run. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) {
            for (int attempt = 0; attempt < 2; attempt++) {
                try (NDManager manager = NDManager.newBaseManager()) {
                    System.out.println(manager.ones(new Shape(2)).getShape());
                } catch (UnsatisfiedLinkError error) {
                    System.out.println(error.getMessage());
                }
            }
        }
    }

    @Test
    void takesAFolderOrAFile() throws Exception {
        assertEquals("(2)\n(2)\n", run("-Dheed.native.path=" + FOLDER));
        assertEquals("(2)\n(2)\n", run("-Dheed.native.path=" + Paths.get(FOLDER, "libheed_java.so")));
    }

    @Test
    void asksTheSystemWithoutThePath() throws Exception {
        assertEquals("(2)\n(2)\n", run("-Djava.library.path=" + FOLDER));
        String failure = run("-Djava.library.path=/no/such/folder");
        assertTrue(failure.contains("heed.native.path, which is not set"), failure);
        assertTrue(failure.contains("/no/such/folder"), failure);
    }

    @Test
    void triesNothingElseThanThePath(@TempDir Path folder) throws Exception {
        String failure = run("-Dheed.native.path=" + folder, "-Djava.library.path=" + FOLDER);
        assertTrue(failure.contains("heed.native.path is " + folder), failure);
        assertTrue(failure.contains(folder.resolve("libheed_java.so").toString()), failure);
        // The second attempt says the same.
        String[] lines = failure.split("\n");
        assertEquals(lines[0], lines[1]);

        Files.write(folder.resolve("libheed_java.so"), new byte[] {1, 2, 3});
        failure = run("-Dheed.native.path=" + folder);
        assertTrue(failure.contains("could not be loaded"), failure);
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

    private static String run(String... options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", classPath(), Program.class.getName()));
        // A JVM that is given a broken library says so on stderr, beside the exception.
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor());
        return output;
    }

    /** Where the classes under test and this one come from. */
    private static String classPath() {
        StringBuilder path = new StringBuilder();
        for (Class<?> one : new Class<?>[] {NDManager.class, NativeLoaderTest.class}) {
            path.append(one.getProtectionDomain().getCodeSource().getLocation().getPath()).append(':');
        }
        return path.toString();
    }
}
