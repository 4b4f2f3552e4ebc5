// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.Folders.names;
import static io.heed.LoaderJvm.WORKS_TWICE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The libraries in the jar are written once, and checked each time. */
class NativeLoaderJarTest {
    private static final String LIBHEED = "libheed.so.0";
    private static final String WRAPPER = "libheed_java.so";

    @TempDir
    private Path temporary;

    @Test
    void writesOncePerContent() throws Exception {
        assertEquals(WORKS_TWICE, run());
        Path folder = onlyFolder();
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)));
        assertEquals(List.of(LIBHEED, WRAPPER), names(folder));
        List<Object> before = identities(folder);

        assertEquals(WORKS_TWICE, run());
        assertEquals(folder, onlyFolder());
        assertEquals(before, identities(folder));

        // A jar with other contents has another folder.
        Path other = Jars.with(temporary.resolve("other.jar"), Jars.LIST, bytes -> reversedLines(bytes));
        assertEquals(WORKS_TWICE, new LoaderJvm(other).in(temporary).runTwice());
        Files.delete(other);
        assertEquals(2, names(temporary).size());
        assertEquals(before, identities(folder));
    }

    @Test
    void writesWhereThePropertySays() throws Exception {
        Path cache = temporary.resolve("made/on/demand");
        Path unused = Files.createDirectory(temporary.resolve("unused"));
        assertEquals(WORKS_TWICE, jvm().in(unused).with("-Dheed.native.cache=" + cache).runTwice());
        assertEquals(List.of(), names(unused));
        assertEquals(1, names(cache).size());
    }

    @Test
    void writesIntoAFolderThatIsALink() throws Exception {
        Path folder = Files.createDirectory(temporary.resolve("folder"));
        Path link = Files.createSymbolicLink(temporary.resolve("link"), folder);
        assertEquals(WORKS_TWICE, jvm().in(link).runTwice());
        assertEquals(1, names(folder).size());
    }

    @ParameterizedTest
    @ValueSource(strings = {LIBHEED, WRAPPER})
    void replacesFilesThatAreNotTheirs(String name) throws Exception {
        run();
        Path folder = onlyFolder();
        Path file = folder.resolve(name);
        byte[] whole = Files.readAllBytes(file);

        Files.write(file, Arrays.copyOf(whole, whole.length / 2)); // Truncated.
        assertReplaced(file, whole);
        Files.write(file, new byte[0]);
        assertReplaced(file, whole);
        byte[] corrupted = whole.clone();
        corrupted[whole.length / 2] ^= 1;
        Files.write(file, corrupted);
        assertReplaced(file, whole);
        Files.delete(file);
        assertReplaced(file, whole);

        // A link is replaced, even if its target has the right contents.
        Path elsewhere = Files.write(Files.createDirectory(temporary.resolve("elsewhere")).resolve(name), whole);
        Files.delete(file);
        Files.createSymbolicLink(file, elsewhere);
        assertReplaced(file, whole);
        assertTrue(Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    void refusesAJarWithAnotherFile() throws Exception {
        for (String name : List.of(LIBHEED, WRAPPER)) {
            String at = "the jar is damaged at /io/heed/native/" + Platform.name() + "/" + name + ": ";
            assertRefused(name, bytes -> Arrays.copyOf(bytes, bytes.length - 1), at + "the SHA-256 of its ");
            assertRefused(name, bytes -> new byte[0], at + "the SHA-256 of its 0 bytes is e3b0c44298fc1c149afbf4c8");
            assertRefused(
                    name,
                    bytes -> {
                        bytes[bytes.length / 2] ^= 1;
                        return bytes;
                    },
                    at + "the SHA-256 of its ");
            assertRefused(name, bytes -> null, at + "it is not there");
        }
    }

    @Test
    void refusesAJarWithAnotherList() throws Exception {
        String at = "the jar is damaged at /io/heed/native/" + Platform.name() + "/" + Jars.LIST + ": the line '";
        assertRefused(Jars.LIST, bytes -> new byte[0], at + "'");
        assertRefused(Jars.LIST, bytes -> Arrays.copyOf(bytes, 10), at);
        // The list may not name files outside the folder.
        for (String name : List.of("../" + WRAPPER, "/tmp/" + WRAPPER, "..", "a\\b", "")) {
            String line = "0".repeat(64) + "  " + name;
            assertRefused(Jars.LIST, bytes -> line.getBytes(StandardCharsets.UTF_8), at + line + "'");
        }
    }

    /** Nothing from the jar is loaded or left behind, and no other library is tried, even if the system has one. */
    private void assertRefused(String name, UnaryOperator<byte[]> change, String sentence) throws Exception {
        Path cache = Files.createDirectory(temporary.resolve("cache"));
        Path jar = Jars.with(temporary.resolve("damaged.jar"), name, change);
        String natives = System.getProperty(NativeLoader.PATH_PROPERTY);
        String output = new LoaderJvm(jar).in(cache).with("-Djava.library.path=" + natives).runTwice();
        String[] lines = output.split("\n");
        assertEquals(lines[0], lines[1]);
        assertTrue(lines[0].contains(" could not be loaded; " + sentence), output);
        for (String folder : names(cache)) {
            assertTrue(folder.matches("heed-[A-Za-z0-9._-]+-[0-9a-f]{16}-[0-9a-f]{16}"), folder);
            for (String file : names(cache.resolve(folder))) {
                assertTrue(file.equals(LIBHEED) && !file.equals(name), file);
                Files.delete(cache.resolve(folder).resolve(file));
            }
            Files.delete(cache.resolve(folder));
        }
        Files.delete(cache);
    }

    private void assertReplaced(Path file, byte[] whole) throws Exception {
        assertEquals(WORKS_TWICE, run());
        assertEquals(file.getParent(), onlyFolder());
        assertEquals(List.of(LIBHEED, WRAPPER), names(file.getParent()));
        assertTrue(Arrays.equals(whole, Files.readAllBytes(file)));
    }

    private LoaderJvm jvm() {
        return new LoaderJvm(LoaderJvm.heedJar());
    }

    private String run() throws Exception {
        return jvm().in(temporary).runTwice();
    }

    private Path onlyFolder() throws IOException {
        List<String> names =
                names(temporary).stream().filter(name -> name.startsWith("heed-")).collect(Collectors.toList());
        assertEquals(1, names.size(), names.toString());
        return temporary.resolve(names.get(0));
    }

    /** Identifies the files themselves, not only their contents. */
    private static List<Object> identities(Path folder) throws IOException {
        return List.of(
                Files.getAttribute(folder.resolve(LIBHEED), "unix:ino"),
                Files.getLastModifiedTime(folder.resolve(LIBHEED)),
                Files.getAttribute(folder.resolve(WRAPPER), "unix:ino"),
                Files.getLastModifiedTime(folder.resolve(WRAPPER)));
    }

    private static byte[] reversedLines(byte[] list) {
        String[] lines = new String(list, StandardCharsets.US_ASCII).split("\n");
        return (lines[1] + "\n" + lines[0] + "\n").getBytes(StandardCharsets.US_ASCII);
    }
}
