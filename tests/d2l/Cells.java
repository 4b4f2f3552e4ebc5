// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

import jdk.jshell.DeclarationSnippet;
import jdk.jshell.EvalException;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis.Completeness;
import jdk.jshell.SourceCodeAnalysis.CompletionInfo;

/**
 * Runs the cells of one notebook one after another, as a notebook does: what one of them declares, the next ones have.
 *
 * <pre>
 * java Cells CLASSPATH OPTION-OF-JAVA... -- FILE...
 * </pre>
 *
 * <p>For each file it prints "ran" and the value of its last expression, or "failed" and why.
 */
public final class Cells {
    /** How much of a value or an error is printed. */
    private static final int LONGEST = 150;

    private final JShell shell;
    private String lastValue = "";

    private Cells(String classPath, List<String> options) {
        // What cells print is not part of the report.
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
        shell = JShell.builder()
                .remoteVMOptions(options.toArray(new String[0]))
                .out(nowhere)
                .err(nowhere)
                .build();
        shell.addToClasspath(classPath);
    }

    public static void main(String[] args) throws IOException {
        List<String> all = List.of(args);
        int files = all.indexOf("--") + 1;
        Cells cells = new Cells(all.get(0), all.subList(1, files - 1));
        for (String file : all.subList(files, all.size())) {
            cells.lastValue = "";
            String why = cells.run(Files.readString(Path.of(file)));
            System.out.println((why == null ? "ran " + cells.lastValue : "failed " + why).strip());
        }
        cells.shell.close();
    }

    /** Runs the statements of a cell. Returns null, or why one of them failed, on one line. */
    private String run(String cell) {
        String rest = cell;
        while (!rest.isBlank()) {
            CompletionInfo next = shell.sourceCodeAnalysis().analyzeCompletion(rest);
            if (next.source() == null) {
                return next.completeness() == Completeness.EMPTY ? null : "no whole statement: " + oneLine(rest);
            }
            rest = next.remaining();
            for (SnippetEvent event : shell.eval(next.source())) {
                String why = whyNot(event);
                if (why != null) {
                    return why;
                }
                if (event.causeSnippet() == null && event.value() != null) {
                    lastValue = oneLine(event.value());
                }
            }
        }
        return null;
    }

    private String whyNot(SnippetEvent event) {
        if (event.exception() != null) {
            String name = event.exception() instanceof EvalException
                    ? ((EvalException) event.exception()).getExceptionClassName()
                    : event.exception().getClass().getName();
            return oneLine(name + ": " + event.exception().getMessage());
        }
        Snippet.Status status = event.status();
        if (status == Snippet.Status.VALID
                || status == Snippet.Status.OVERWRITTEN
                || status == Snippet.Status.DROPPED) {
            return null;
        }
        String missing = event.snippet() instanceof DeclarationSnippet
                ? shell.unresolvedDependencies((DeclarationSnippet) event.snippet()).collect(Collectors.joining(", "))
                : "";
        String errors = shell.diagnostics(event.snippet())
                .map(error -> error.getMessage(Locale.ROOT))
                .collect(Collectors.joining("; "));
        return oneLine(missing.isEmpty() ? errors : errors + " missing: " + missing);
    }

    private static String oneLine(String text) {
        String line = text.strip().replaceAll("\\s+", " ");
        return line.length() <= LONGEST ? line : line.substring(0, LONGEST) + "...";
    }
}
