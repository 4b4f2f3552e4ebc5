// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The options that a native layer says in JSON, by their names in C. A query also takes the value of a missing one. */
final class SaidOptions {
    private static final Pattern TOKEN = Pattern.compile("[\\[\\]{}]|\"[^\"]*\"|[-+.\\w]+");

    /** Numbers and words as text, objects, and lists of these. */
    private final Map<String, Object> members = new HashMap<>();

    SaidOptions(String json) {
        Matcher tokens = TOKEN.matcher(json);
        next(tokens);
        read(tokens);
    }

    private SaidOptions(Matcher tokens) {
        read(tokens);
    }

    private void read(Matcher tokens) {
        for (String name = next(tokens); !name.equals("}"); name = next(tokens)) {
            members.put(name, value(next(tokens), tokens));
        }
    }

    private static Object value(String token, Matcher tokens) {
        if (token.equals("{")) {
            return new SaidOptions(tokens);
        }
        if (!token.equals("[")) {
            return token;
        }
        List<Object> list = new ArrayList<>();
        for (String each = next(tokens); !each.equals("]"); each = next(tokens)) {
            list.add(value(each, tokens));
        }
        return list;
    }

    private static String next(Matcher tokens) {
        tokens.find();
        return tokens.group().replace("\"", "");
    }

    boolean has(String name) {
        return members.containsKey(name);
    }

    long number(String name, long otherwise) {
        return has(name) ? Long.parseLong((String) members.get(name)) : otherwise;
    }

    float number(String name, float otherwise) {
        return has(name) ? Float.parseFloat((String) members.get(name)) : otherwise;
    }

    boolean is(String name) {
        return "true".equals(members.get(name));
    }

    <E extends Enum<E>> E word(Class<E> type, String name, E otherwise) {
        return has(name) ? wordOf(type, members.get(name)) : otherwise;
    }

    static <E extends Enum<E>> E wordOf(Class<E> type, Object word) {
        return Enum.valueOf(type, word.toString().toUpperCase(Locale.ROOT));
    }

    /** The options of a part, which must be there. */
    SaidOptions part(String name) {
        return (SaidOptions) members.get(name);
    }

    /** Numbers and words as text, or the options of parts; empty if there are none. */
    @SuppressWarnings("unchecked")
    <T> List<T> list(String name) {
        return (List<T>) members.getOrDefault(name, List.of());
    }
}
