// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Computes the expressions of a line of a case, from left to right. */
final class CaseReader {
    private static final Pattern TOKEN = Pattern.compile(
            "\\s*(?<token>\\d+(?:\\.\\d+)?(?:[eE]-?\\d+)?|\"(?:[^\"\\\\]|\\\\.)*\"|[A-Za-z_]\\w*|\\.\\.\\.|[-+*/%()\\[\\],.:=])");
    private static final Pattern SYMBOL = Pattern.compile("[A-Z][A-Z0-9_]*");

    private final List<String> tokens = new ArrayList<>();
    private final CaseRunner runner;
    private final Map<String, Object> variables;
    private int at;

    CaseReader(String text, CaseRunner runner, Map<String, Object> variables) {
        this.runner = runner;
        this.variables = variables;
        Matcher matcher = TOKEN.matcher(text);
        int end = 0;
        while (end < text.length()) {
            if (!matcher.find(end) || matcher.start() != end) {
                throw new AssertionError("cannot read " + text.substring(end));
            }
            tokens.add(matcher.group("token"));
            end = matcher.end();
        }
    }

    boolean atEnd() {
        return at == tokens.size();
    }

    String next() {
        if (atEnd()) {
            throw new AssertionError("the line ends too early");
        }
        return tokens.get(at++);
    }

    boolean isNext(String token, int ahead) {
        return at + ahead < tokens.size() && tokens.get(at + ahead).equals(token);
    }

    boolean take(String token) {
        boolean found = isNext(token, 0);
        at += found ? 1 : 0;
        return found;
    }

    void expect(String token) {
        if (!take(token)) {
            throw new AssertionError("expected " + token + " before " + tokens.subList(at, tokens.size()));
        }
    }

    /** A text literal, in Java's words: names stand between backquotes. */
    private String text() {
        String token = next();
        StringBuilder text = new StringBuilder();
        for (int i = 1; i < token.length() - 1; i++) {
            char c = token.charAt(i);
            if (c == '\\') {
                c = token.charAt(++i);
                if (c == 'u') {
                    c = (char) Integer.parseInt(token.substring(i + 1, i + 5), 16);
                    i += 4;
                } else {
                    c = c == 'n' ? '\n' : c == '0' ? '\0' : c;
                }
            } else if (c == '`') {
                continue;
            }
            text.append(c);
        }
        return text.toString();
    }

    Object expression() throws Exception {
        Object left = product();
        while (isNext("+", 0) || isNext("-", 0)) {
            left = arithmetic(next(), left, product());
        }
        return left;
    }

    private Object product() throws Exception {
        Object left = unary();
        while (isNext("*", 0) || isNext("/", 0) || isNext("%", 0)) {
            left = arithmetic(next(), left, unary());
        }
        return left;
    }

    private Object unary() throws Exception {
        return take("-") ? arithmetic("-", 0L, unary()) : member(primary());
    }

    private static Object arithmetic(String operator, Object left, Object right) {
        if (left instanceof String) {
            return left + String.valueOf(right);
        }
        if (CaseComparison.isWhole(left) && CaseComparison.isWhole(right) && !operator.equals("/")) {
            long a = ((Number) left).longValue();
            long b = ((Number) right).longValue();
            return operator.equals("+") ? a + b : operator.equals("-") ? a - b : operator.equals("*") ? a * b : a % b;
        }
        double a = ((Number) left).doubleValue();
        double b = ((Number) right).doubleValue();
        switch (operator) {
            case "+":
                return a + b;
            case "-":
                return a == 0 ? -b : a - b;
            case "*":
                return a * b;
            default:
                return a / b;
        }
    }

    /** What follows a value: members of it that are read, called or set, and elements. */
    private Object member(Object value) throws Exception {
        Object found = value;
        while (isNext(".", 0) || isNext("[", 0)) {
            if (take("[")) {
                found = runner.element(found, arguments("]", new LinkedHashMap<>()));
                continue;
            }
            expect(".");
            String name = next();
            if (take("=")) {
                CaseCalls.set(found, name, expression());
                return null;
            }
            Map<String, Object> options = new LinkedHashMap<>();
            List<Object> arguments = take("(") ? arguments(")", options) : List.of();
            Object made = CaseCalls.call(found, name, arguments);
            CaseCalls.setAll(made, options);
            found = made;
        }
        return found;
    }

    private List<Object> arguments(String end, Map<String, Object> options) throws Exception {
        List<Object> arguments = new ArrayList<>();
        while (!take(end)) {
            if (isNext(":", 1)) {
                String name = next();
                expect(":");
                options.put(name, expression());
            } else if (isNext("...", 1)) {
                for (Map.Entry<?, ?> option : ((Map<?, ?>) variables.get(next())).entrySet()) {
                    options.put((String) option.getKey(), option.getValue());
                }
                expect("...");
            } else {
                arguments.add(expression());
            }
            if (!isNext(end, 0)) {
                expect(",");
            }
        }
        return arguments;
    }

    /** Where "for" stands before the bracket that closes this one, -1 if it does not. */
    private int comprehensionFor() {
        int open = 1;
        for (int i = at; i < tokens.size() && open > 0; i++) {
            String token = tokens.get(i);
            if (token.equals("for") && open == 1) {
                return i;
            }
            open += token.equals("[") || token.equals("(") ? 1 : token.equals("]") || token.equals(")") ? -1 : 0;
        }
        return -1;
    }

    /** [expression for name in list]: the expression for each of its values. */
    private Object comprehension(int forAt) throws Exception {
        int begin = at;
        at = forAt + 1;
        String name = next();
        expect("in");
        List<Object> values = CaseComparison.list(expression());
        expect("]");
        int end = at;
        List<Object> elements = new ArrayList<>();
        for (Object value : values) {
            at = begin;
            variables.put(name, value);
            elements.add(expression());
        }
        at = end;
        return elements;
    }

    private Object primary() throws Exception {
        if (take("[")) {
            int forAt = comprehensionFor();
            return forAt >= 0 ? comprehension(forAt) : arguments("]", new LinkedHashMap<>());
        }
        String token = tokens.get(at);
        if (token.startsWith("\"")) {
            return text();
        }
        next();
        if (token.equals("(")) {
            Object value = expression();
            expect(")");
            return value;
        }
        if (Character.isDigit(token.charAt(0))) {
            if (token.matches("\\d+")) {
                return Long.parseLong(token);
            }
            return Double.parseDouble(token);
        }
        Class<?> type = CaseCalls.type(token);
        if (take("(")) {
            Map<String, Object> options = new LinkedHashMap<>();
            List<Object> arguments = arguments(")", options);
            return type != null ? runner.make(type, arguments, options) : runner.call(token, arguments, options);
        }
        if (variables.containsKey(token)) {
            return variables.get(token);
        }
        if (type != null) {
            return type;
        }
        if (SYMBOL.matcher(token).matches()) {
            return new CaseArguments.Symbol(token);
        }
        throw new AssertionError("nothing has the name " + token);
    }
}
