// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.Folders.names;
import static io.heed.LoaderJvm.WORKS_TWICE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.List;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Temporary folders that are full, read-only, noexec, not folders, or owned by another user. */
class NativeLoaderFolderTest {
    /**
     * Mounts a small file system on $1 with the options $2, runs the rest of the command, and lists the files that are
     * left there.
     */
    private static final String MOUNT = "folder=$1 && mount -t tmpfs -o \"$2\" tmpfs \"$folder\" && shift 2 && \"$@\" "
            + "&& ls -A \"$folder\"";
    /** The same, but the file system becomes read-only after the library was loaded from it. */
    private static final String MOUNT_WARM = "folder=$1 && mount -t tmpfs tmpfs \"$folder\" && shift && \"$@\" "
            + "&& mount -o remount,bind,ro \"$folder\" && \"$@\"";

    @TempDir
    private Path temporary;

    private Path folder;

    @BeforeEach
    void makeFolder() throws IOException {
        folder = Files.createDirectory(temporary.resolve("folder"));
    }

    @Test
    void saysThatFilesMayNotBeAsLarge() throws Exception {
        String failure = jvm().through("bash", "-c", "ulimit -f 100 && exec \"$@\"", "-").runTwice();
        assertFailure(failure, "File too large", "File too large");
        assertEquals(List.of(), names(onlyFolder(folder)));
    }

    @Test
    void saysThatTheFileSystemIsFull() throws Exception {
        String output = mounted("size=256k,mode=0700").runTwice();
        assertFailure(output, "No space left on device", "No space left on device");
        // Only the shared folder is there.
        assertEquals(3, output.split("\n").length, output);
    }

    @Test
    void saysThatTheFileSystemIsReadOnly() throws Exception {
        assertFailure(mounted("ro").runTwice(), "Read-only file system", "Read-only file system");
    }

    @Test
    void needsToWriteOnlyOnce() throws Exception {
        assumeMountsAreAllowed();
        String output = jvm().through(
                        "unshare", "--mount", "--map-root-user", "sh", "-c", MOUNT_WARM, "-", folder.toString())
                .runTwice();
        assertEquals(WORKS_TWICE + WORKS_TWICE, output);
    }

    @Test
    void saysThatTheFileSystemIsNoexec() throws Exception {
        String output = mounted("noexec,mode=0700").runTwice();
        assertFailure(output, "failed to map segment", "failed to map segment");
        String advice = "noexec is of no use: let the system property heed.native.cache name another";
        assertTrue(output.contains(advice), output);
    }

    @Test
    void saysThatTheFolderIsReadOnly() throws Exception {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("r-x------"));
        assumeTrue(!Files.isWritable(folder), "the superuser may write everywhere");
        assertFailure(jvm().runTwice(), "AccessDeniedException", "AccessDeniedException");
    }

    @Test
    void saysThatThePathIsNoFolder() throws Exception {
        Path file = Files.write(temporary.resolve("file"), new byte[1]);
        for (Path place : List.of(file, file.resolve("below"))) {
            String failure = jvm().in(place).with("-Djava.library.path=/no/such/folder").runTwice();
            assertFailure(failure, "the libraries in the jar: ", file.toString());
        }
    }

    @Test
    void triesTheSystemsFoldersNext() throws Exception {
        Path file = Files.write(temporary.resolve("file"), new byte[1]);
        String natives = System.getProperty(NativeLoader.PATH_PROPERTY);
        assertEquals(WORKS_TWICE, jvm().in(file).with("-Djava.library.path=" + natives).runTwice());
    }

    @Test
    void trustsNoFolderThatOthersCanWriteTo() throws Exception {
        Path shared = sharedFolder();
        for (String permissions : List.of("rwxrwxrwx", "rwxrwx---", "rwx----w-")) {
            Files.setPosixFilePermissions(shared, PosixFilePermissions.fromString(permissions));
            assertNotTouched(shared);
        }
    }

    @Test
    void trustsNoFolderOfAnotherUser() throws Exception {
        Path shared = sharedFolder();
        UserPrincipal owner = Files.getOwner(shared);
        new ProcessBuilder("chown", "12345", shared.toString()).start().waitFor();
        assumeTrue(!Files.getOwner(shared).equals(owner), "only the superuser gives files away");
        assertNotTouched(shared);
    }

    @Test
    void followsNoLink() throws Exception {
        Path shared = sharedFolder();
        Path elsewhere = Files.createDirectory(temporary.resolve("elsewhere"));
        Files.delete(shared);
        Files.createSymbolicLink(shared, elsewhere);
        assertNotTouched(shared);
        Files.delete(shared);
        Files.createSymbolicLink(shared, temporary.resolve("nowhere"));
        assertEquals(WORKS_TWICE, jvm().runTwice());
        Files.delete(shared);
        Files.write(shared, new byte[1]);
        assertEquals(WORKS_TWICE, jvm().runTwice());
    }

    @Test
    void writesANewFolderIfAFileCannotBeReplaced() throws Exception {
        Path inTheWay = Files.createDirectories(sharedFolder().resolve("libheed.so.0").resolve("full"));
        assertEquals(WORKS_TWICE, jvm().runTwice());
        assertTrue(Files.isDirectory(inTheWay));
        assertEquals(1, names(folder).size());
    }

    /** The library works from a new folder, which is removed afterwards. */
    private void assertNotTouched(Path shared) throws Exception {
        assertEquals(WORKS_TWICE, jvm().runTwice());
        assertEquals(List.of(), names(shared));
        assertEquals(1, names(folder).size());
    }

    /** The shared folder, empty. */
    private Path sharedFolder() throws Exception {
        assertEquals(WORKS_TWICE, jvm().runTwice());
        Path shared = onlyFolder(folder);
        for (String name : names(shared)) {
            Files.delete(shared.resolve(name));
        }
        return shared;
    }

    private LoaderJvm jvm() {
        return new LoaderJvm(LoaderJvm.heedJar()).in(folder);
    }

    private LoaderJvm mounted(String options) throws Exception {
        assumeMountsAreAllowed();
        return jvm().through(
                "unshare", "--mount", "--map-root-user", "sh", "-c", MOUNT, "-", folder.toString(), options);
    }

    private void assumeMountsAreAllowed() throws Exception {
        int status = new ProcessBuilder(
                        "unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "tmpfs", folder.toString())
                .start().waitFor();
        assumeTrue(status == 0, "this system lets nobody mount");
    }

    /** The first line contains these, in this order. */
    private static void assertFailure(String output, String... parts) {
        String line = output.split("\n")[0];
        assertTrue(line.startsWith("heed's native library for "), output);
        int at = 0;
        for (String part : parts) {
            at = line.indexOf(part, at);
            assertTrue(at >= 0, output);
            at += part.length();
        }
        assertTrue(line.contains("java.library.path, which is "), output);
    }

    private static Path onlyFolder(Path folder) throws IOException {
        List<String> names = names(folder);
        assertEquals(1, names.size(), names.toString());
        return folder.resolve(names.get(0));
    }
}
