// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A file of tests/bindings/cases, cut into its parts. docs/testing.md describes the form. */
final class CaseFile {
    /** A line, without its indentation; open brackets and words that want more continue it on the next one. */
    static final class Line {
        final String place;
        final int indentation;
        String text;

        Line(String place, int indentation, String text) {
            this.place = place;
            this.indentation = indentation;
            this.text = text;
        }
    }

    /** A line that begins a case or a file, with the reason. */
    static final Pattern ONLY = Pattern.compile("only (java|csharp|cpu): .+");

    final String name;
    /** What runs before each case. */
    final List<Line> setup = new ArrayList<>();
    /** The functions and their parameters by name. */
    final Map<String, List<Line>> functions = new LinkedHashMap<>();
    final Map<String, List<String>> parameters = new HashMap<>();
    final Map<String, List<Line>> cases = new LinkedHashMap<>();

    /** The functions that scenes give, of which a file may need some. */
    final Set<String> ofScenes = new HashSet<>();

    CaseFile(Path path) {
        name = path.getFileName().toString();
        read(path);
    }

    private void read(Path path) {
        List<Line> body = setup;
        for (Line line : lines(path)) {
            if (line.indentation > 0) {
                body.add(line);
            } else if (line.text.startsWith("include ")) {
                read(folder().resolveSibling("scenes").resolve(line.text.substring(8) + ".txt"));
                ofScenes.addAll(functions.keySet());
            } else if (line.text.startsWith("define ")) {
                String[] head = line.text.substring(7).split("[(), ]+");
                parameters.put(head[0], Arrays.asList(head).subList(1, head.length));
                body = begin(functions, line.place, head[0]);
            } else if (line.text.startsWith("case ")) {
                body = begin(cases, line.place, line.text.substring(5));
            } else {
                body = setup;
                body.add(line);
            }
        }
    }

    private static Path folder() {
        return Path.of(System.getProperty("heed.cases"));
    }

    static List<CaseFile> all() {
        try (Stream<Path> files = Files.list(folder())) {
            return files.sorted().map(CaseFile::new).collect(Collectors.toList());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The cases that this language and this device run: "only java: reason" may begin a case, "only cpu: reason" a file, too. */
    List<String> casesFor(String language) {
        return cases.entrySet().stream()
                .filter(each -> runs(each.getValue(), language) && runs(setup, language))
                .map(Map.Entry::getKey)
                .collect(Collectors.toList());
    }

    private static boolean runs(List<Line> lines, String language) {
        Matcher only = ONLY.matcher(lines.isEmpty() ? "" : lines.get(0).text);
        return !only.matches() || only.group(1).equals(only.group(1).equals("cpu") ? device() : language);
    }

    private static String device() {
        return TestDevice.DEVICE.isCpu() ? "cpu" : "another";
    }

    /** All lines, without what stands in quotes. */
    String text() {
        return Stream.of(List.of(setup), functions.values(), cases.values())
                .flatMap(Collection::stream)
                .flatMap(List::stream)
                .map(line -> "\n" + line.text.replaceAll("\"([^\"\\\\]|\\\\.)*\"", "\"\""))
                .collect(Collectors.joining());
    }

    private static List<Line> begin(Map<String, List<Line>> parts, String place, String name) {
        List<Line> body = new ArrayList<>();
        if (parts.put(name, body) != null) {
            throw new AssertionError(place + ": the name is there twice");
        }
        return body;
    }

    private static boolean continues(List<Line> lines) {
        return !lines.isEmpty() && lines.get(lines.size() - 1).text.matches(".*(:| is| near| exactly| \\+)");
    }

    private List<Line> lines(Path path) {
        List<Line> lines = new ArrayList<>();
        int number = 0;
        int open = 0;
        try {
            for (String text : Files.readAllLines(path)) {
                number++;
                String trimmed = text.trim();
                if (trimmed.isEmpty() || trimmed.startsWith("#")) {
                    continue;
                }
                if (open > 0 || continues(lines)) {
                    lines.get(lines.size() - 1).text += " " + trimmed;
                } else {
                    lines.add(new Line(path.getFileName() + ":" + number, text.indexOf(trimmed), trimmed));
                }
                String code = trimmed.replaceAll("\"([^\"\\\\]|\\\\.)*\"", "");
                open += code.replaceAll("[^(\\[]", "").length() - code.replaceAll("[^)\\]]", "").length();
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return lines;
    }
}
