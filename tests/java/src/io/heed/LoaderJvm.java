// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** Runs NativeLoaderProgram in a new process, since a process loads the library only once. */
final class LoaderJvm {
    static final String WORKS = "(1, 3, 4)";
    static final String WORKS_TWICE = WORKS + "\n" + WORKS + "\n";

    private final Path jar;
    private final List<String> launcher = new ArrayList<>();
    private final List<String> options = new ArrayList<>();

    /** Takes heed's classes from this jar. */
    LoaderJvm(Path jar) {
        this.jar = jar;
    }

    /** The jar under test. */
    static Path heedJar() {
        return ChildJvm.codeSource(NDManager.class);
    }

    /** Runs the JVM through this command, which gets the command line of the JVM as its arguments. */
    LoaderJvm through(String... command) {
        launcher.addAll(List.of(command));
        return this;
    }

    LoaderJvm with(String... options) {
        this.options.addAll(List.of(options));
        return this;
    }

    /** Sets the folder for temporary files. */
    LoaderJvm in(Path folder) {
        return with("-Djava.io.tmpdir=" + folder);
    }

    Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(launcher);
        command.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        // A JVM that ends within a second spends most of it on compiling and on its collector's threads.
        command.addAll(List.of("-Xcheck:jni", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(options);
        command.addAll(List.of("-cp", jar + ":" + ChildJvm.codeSource(LoaderJvm.class)));
        command.add(NativeLoaderProgram.class.getName());
        command.addAll(List.of(arguments));
        // A JVM that loads a broken library prints a message to stderr besides throwing the exception.
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    /** What the program wrote to stdout, where -Xcheck:jni would write, too. */
    static String outputOf(Process process) throws IOException, InterruptedException {
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        return output;
    }

    String run(String... arguments) throws IOException, InterruptedException {
        return outputOf(start(arguments));
    }

    /** Loads and uses the library, twice. */
    String runTwice() throws IOException, InterruptedException {
        return run("twice");
    }
}
