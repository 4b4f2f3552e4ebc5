// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** Runs a main method in a new virtual machine with the given options. */
final class ChildJvm {
    final int exitCode;
    /** What the process wrote to both its streams. */
    final String output;

    private ChildJvm(int exitCode, String output) {
        this.exitCode = exitCode;
        this.output = output;
    }

    static ChildJvm run(Class<?> main, String... options) throws IOException, InterruptedException {
        return run(List.of(), main, options);
    }

    /** Runs it in an address space of this many KiB. */
    static ChildJvm runWithin(long kibibytes, Class<?> main, String... options)
            throws IOException, InterruptedException {
        return run(List.of("sh", "-c", "ulimit -v " + kibibytes + " && exec \"$@\"", "sh"), main, options);
    }

    private static ChildJvm run(List<String> shell, Class<?> main, String... options)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(shell);
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(options));
        command.add("-Dheed.native.path=" + System.getProperty("heed.native.path"));
        command.add("-cp");
        command.add(codeSource(NDManager.class) + File.pathSeparator + codeSource(ChildJvm.class));
        command.add(main.getName());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        // The JVM would print these options, and they would change how much memory there is.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"));
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new ChildJvm(process.waitFor(), output);
    }

    /** A number of this process by the name of a line in /proc/self/status. */
    static long statusBytes(String key) throws IOException {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith(key + ":")) {
                return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException("/proc/self/status has no " + key);
    }

    /** The jar or folder that contains the class. */
    static Path codeSource(Class<?> type) {
        try {
            return Paths.get(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException error) {
            throw new IllegalStateException(error);
        }
    }
}
