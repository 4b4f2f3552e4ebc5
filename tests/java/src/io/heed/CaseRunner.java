// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Runs a case of tests/bindings/cases: its lines, one after another. */
final class CaseRunner {
    /** What a call may throw, by the word that begins a line. */
    static final Map<String, Class<? extends Throwable>> ERRORS = Map.ofEntries(
            entry("illegal", IllegalArgumentException.class),
            entry("state", IllegalStateException.class),
            entry("closed", IllegalStateException.class),
            entry("unsupported", UnsupportedOperationException.class),
            entry("index", IndexOutOfBoundsException.class),
            entry("memory", OutOfMemoryError.class),
            entry("outside", IllegalArgumentException.class),
            entry("corrupt", IllegalArgumentException.class),
            entry("cut", IllegalArgumentException.class),
            entry("missing", NullPointerException.class),
            entry("full", CacheFullException.class),
            entry("fails", HeedException.class));
    private static final Pattern WORDS_OF_C = Pattern.compile("->|heed_|HEED_|NULL|\\b(?!(?:bias_v|model_type)\\b)[a-z]+_[a-z]+\\b(?!\\.)");

    private final CaseFile file;
    private final Path folder;
    private final Map<String, Object> shared = new HashMap<>();
    private final CaseFunctions functions;
    private final Deque<AutoCloseable> made = new ArrayDeque<>();
    private int numAssertions;

    CaseRunner(CaseFile file, Path folder) {
        this.file = file;
        this.folder = folder;
        functions = new CaseFunctions(folder);
        NDManager manager = TestDevice.newManager();
        made.push(manager);
        shared.put("manager", manager);
        shared.put("ps", new ParameterStore(manager, false));
        shared.put("null", null);
        shared.put("true", true);
        shared.put("false", false);
        shared.put("nan", Double.NaN);
        shared.put("inf", Double.POSITIVE_INFINITY);
    }

    /** Runs the setup of the file and the case; a case that asserts nothing fails. */
    void run(String name) throws Exception {
        try {
            lines(file.setup, shared);
            lines(file.cases.get(name), new HashMap<>(shared));
        } finally {
            while (!made.isEmpty()) {
                made.pop().close();
            }
        }
        assertTrue(numAssertions > 0, "the case asserts nothing");
    }

    Object make(Class<?> type, List<Object> arguments, Map<String, Object> options) throws Exception {
        Object object = CaseCalls.make(type, arguments, options);
        if (object instanceof AutoCloseable) {
            made.push((AutoCloseable) object);
        }
        return object;
    }

    /** Calls a function of the file, or one of the runner's. */
    Object call(String name, List<Object> arguments, Map<String, Object> options) throws Exception {
        if (file.functions.containsKey(name)) {
            Map<String, Object> variables = new HashMap<>(shared);
            bind(file.parameters.get(name), arguments, options, variables);
            return lines(file.functions.get(name), variables);
        }
        assertTrue(options.isEmpty(), name);
        return functions.call(name, arguments);
    }

    private static void bind(List<String> names, List<Object> arguments, Map<String, Object> options, Map<String, Object> to) {
        int count = names.size();
        boolean takesOptions = count > 0 && names.get(count - 1).endsWith("...");
        count -= takesOptions ? 1 : 0;
        assertEquals(count, arguments.size(), "arguments for " + names);
        for (int i = 0; i < count; i++) {
            to.put(names.get(i), arguments.get(i));
        }
        if (takesOptions) {
            to.put(names.get(count).replace("...", ""), options);
        } else {
            assertTrue(options.isEmpty(), "options for " + names);
        }
    }

    Object element(Object target, List<Object> indices) throws Exception {
        if (target.getClass().isArray()) {
            return Array.get(target, ((Long) indices.get(0)).intValue());
        }
        if (target instanceof List && !(target instanceof NDList)) {
            return ((List<?>) target).get(((Long) indices.get(0)).intValue());
        }
        return CaseCalls.call(target, "get", indices);
    }

    private Object lines(List<CaseFile.Line> lines, Map<String, Object> variables) throws Exception {
        for (int i = 0; i < lines.size();) {
            CaseFile.Line line = lines.get(i++);
            int begin = i;
            while (i < lines.size() && lines.get(i).indentation > line.indentation) {
                i++;
            }
            try {
                if (CaseFile.ONLY.matcher(line.text).matches()) {
                    continue;
                }
                CaseReader reader = new CaseReader(line.text, this, variables);
                if (reader.take("for")) {
                    loop(reader, lines.subList(begin, i), variables);
                } else if (reader.take("if")) {
                    if ((Boolean) reader.expression()) {
                        lines(lines.subList(begin, i), variables);
                    }
                } else if (reader.take("return")) {
                    return reader.expression();
                } else if (!reader.take("csharp")) {
                    assertEquals(begin, i, "lines that belong to nothing");
                    reader.take("java");
                    statement(reader, variables);
                }
            } catch (AssertionError error) {
                if (String.valueOf(error.getMessage()).startsWith("at ")) {
                    throw error;
                }
                throw new AssertionError("at " + line.place + ": " + error.getMessage(), error);
            }
        }
        return null;
    }

    private void loop(CaseReader reader, List<CaseFile.Line> body, Map<String, Object> variables) throws Exception {
        String name = reader.next();
        reader.expect("in");
        List<Object> values = CaseComparison.list(reader.expression());
        assertFalse(values.isEmpty(), "a loop over nothing");
        for (Object value : values) {
            variables.put(name, value);
            lines(body, variables);
        }
    }

    private void statement(CaseReader reader, Map<String, Object> variables) throws Exception {
        for (String kind : ERRORS.keySet()) {
            if (!reader.isNext("(", 1) && !reader.isNext("=", 1) && !reader.isNext(".", 1) && reader.take(kind)) {
                refusal(kind, reader, variables);
                return;
            }
        }
        if (reader.isNext("=", 1)) {
            String name = reader.next();
            reader.expect("=");
            variables.put(name, reader.expression());
        } else {
            Object found = reader.expression();
            if (!reader.atEnd()) {
                comparison(reader, found);
            }
        }
        assertTrue(reader.atEnd(), "the line goes on");
    }

    private void comparison(CaseReader reader, Object found) throws Exception {
        numAssertions++;
        switch (reader.next()) {
            case "is":
                boolean differs = reader.take("not");
                if (reader.take("same")) {
                    assertEquals(!differs, found == reader.expression(), "whether it is the same object");
                } else {
                    String difference = CaseComparison.difference(reader.expression(), found);
                    assertEquals(differs, difference != null, differs ? "it is equal" : difference);
                }
                break;
            case "near":
                Object expected = reader.expression();
                reader.expect("within");
                CaseComparison.near(expected, found, reader.expression());
                break;
            case "contains":
                String words = (String) reader.expression();
                assertTrue(((String) found).contains(words), found + " has no " + words);
                break;
            default:
                throw new AssertionError("an unknown comparison");
        }
    }

    /** The rest of a line: a status or none, words of the sentence or "exactly" and all of it, ":" and a call that throws it. */
    private void refusal(String kind, CaseReader reader, Map<String, Object> variables) throws Exception {
        String status = kind.equals("fails") ? reader.next() : "";
        boolean isWhole = reader.take("exactly");
        List<String> words = new ArrayList<>();
        while (!reader.take(":")) {
            words.add((String) reader.expression());
        }
        Throwable thrown = null;
        try {
            reader.expression();
        } catch (InvocationTargetException error) {
            thrown = error.getCause();
        }
        variables.put("thrown", thrown);
        numAssertions++;
        Throwable found = thrown;
        assertTrue(ERRORS.get(kind).isInstance(thrown), () -> "thrown is " + found);
        String message = thrown.getMessage();
        if (kind.equals("fails")) {
            assertTrue(new CaseArguments.Symbol(status).names(((HeedException) thrown).getStatus()), "" + thrown);
        }
        for (String word : words) {
            assertTrue(isWhole || kind.equals("missing") ? message.equals(word) : message.contains(word), message);
        }
        message = message.replace(folder.toString(), "");
        assertFalse(WORDS_OF_C.matcher(message.replaceAll("\"[^\"]*\"", "")).find(), message);
        assertTrue(reader.atEnd(), "the line goes on");
    }
}
