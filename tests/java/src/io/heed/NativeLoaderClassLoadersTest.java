// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static io.heed.Folders.names;
import static io.heed.LoaderJvm.WORKS;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A JVM lets only one class loader load a file, so each further class loader gets a copy of its own. */
class NativeLoaderClassLoadersTest {
    @TempDir
    private Path temporary;

    @Test
    void allWorkAtTheSameTime() throws Exception {
        for (int count : new int[] {1, 2, 16}) {
            assertEquals(allWork(count), jvm().run("threads", Integer.toString(count)));
            assertOneFolder();
        }
    }

    @Test
    void allProcessesMayWriteAtOnce() throws Exception {
        for (int round = 0; round < 3; round++) {
            List<Process> processes = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                processes.add(jvm().start("threads", "4"));
            }
            for (Process process : processes) {
                assertEquals(allWork(4), LoaderJvm.outputOf(process));
            }
            Path folder = assertOneFolder();
            for (String name : names(folder)) {
                Files.delete(folder.resolve(name));
            }
            Files.delete(folder);
        }
    }

    /**
     * Class loaders that are closed and collected: the library is unloaded with its classes, and loaded again by the
     * next ones.
     */
    @Test
    void areCollected() throws Exception {
        String output = jvm()
                // Soft references are cleared at the next collection; sixty copies of the classes would not fit in
                // memory.
                .with("-XX:SoftRefLRUPolicyMSPerMB=0", "-Xmx64m", "-XX:MaxMetaspaceSize=24m")
                .run("unload", "60");
        assertEquals("alive: 0\nmapped: 0\nmore descriptors: 0\nmore threads: 0\n", output);
        assertOneFolder();
    }

    private LoaderJvm jvm() {
        return new LoaderJvm(LoaderJvm.heedJar()).in(temporary);
    }

    private static String allWork(int count) {
        String works = (WORKS + "\n").repeat(count);
        return works + "mapped: " + count + "\n" + works;
    }

    /** Only the shared folder is left, complete; all copies and unfinished files are removed. */
    private Path assertOneFolder() throws IOException {
        List<String> folders = names(temporary);
        assertEquals(1, folders.size(), folders.toString());
        Path folder = temporary.resolve(folders.get(0));
        assertEquals(List.of("libheed.so.0", "libheed_java.so"), names(folder));
        return folder;
    }
}
