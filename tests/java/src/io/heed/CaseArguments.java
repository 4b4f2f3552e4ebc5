// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.reflect.Array;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The values of a case as the arguments of a member, and how well they fit it. */
final class CaseArguments {
    /** A constant of an enumeration, whose type is the one that is expected where it stands. */
    static final class Symbol {
        final String name;

        Symbol(String name) {
            this.name = name;
        }

        boolean names(Object constant) {
            return constant instanceof Enum && plain(((Enum<?>) constant).name()).equals(plain(name));
        }
    }

    /** A null for a parameter of this type. */
    static final class Null {
        final String type;

        Null(String type) {
            this.type = type;
        }
    }

    /** In place of what cannot be converted. */
    private static final Object NO = new Object();

    final Object[] values;
    int cost;

    private CaseArguments(int count, int cost) {
        values = new Object[count];
        this.cost = cost;
    }

    /** Null if an argument has no value of its parameter's type. */
    static CaseArguments convert(List<Object> arguments, Class<?>[] types, int cost) {
        CaseArguments converted = new CaseArguments(types.length, cost);
        for (int i = 0; i < types.length; i++) {
            converted.values[i] = converted.convert(arguments.get(i), types[i]);
            if (converted.values[i] == NO) {
                return null;
            }
        }
        return converted;
    }

    static String plain(String name) {
        return name.replace("_", "").toLowerCase(Locale.ROOT);
    }

    private Object at(int price, Object value) {
        cost += price;
        return value;
    }

    private Object convert(Object value, Class<?> type) {
        if (value == null) {
            return type.isPrimitive() ? NO : at(type.isArray() ? 1 : 0, null);
        }
        if (value instanceof Null) {
            boolean fits = plain(type.getSimpleName()).startsWith(plain(((Null) value).type));
            return fits && !type.isPrimitive() ? null : NO;
        }
        if (value instanceof Symbol) {
            return type.isEnum() ? constant((Symbol) value, type) : NO;
        }
        if (value instanceof List && type.isArray() && !(value instanceof NDList)) {
            List<Object> elements = new ArrayList<>((List<?>) value);
            Object array = Array.newInstance(type.getComponentType(), elements.size());
            for (int i = 0; i < elements.size(); i++) {
                Object element = convert(elements.get(i), type.getComponentType());
                if (element == NO) {
                    return NO;
                }
                Array.set(array, i, element);
            }
            return at(1, array);
        }
        if (value instanceof Number && (type.isPrimitive() || Number.class.isAssignableFrom(type))) {
            return number((Number) value, plain(type.getSimpleName()));
        }
        if (value instanceof Boolean && type == boolean.class) {
            return value;
        }
        if (value instanceof String && type == Path.class) {
            return at(1, Paths.get((String) value));
        }
        return type.isInstance(value) ? at(type == value.getClass() ? 0 : 2, value) : NO;
    }

    private static Object constant(Symbol symbol, Class<?> type) {
        for (Object constant : type.getEnumConstants()) {
            if (symbol.names(constant)) {
                return constant;
            }
        }
        return NO;
    }

    /** A whole number prefers long and int, any other one double and float. */
    private Object number(Number value, String type) {
        boolean isWhole = value instanceof Long || value instanceof Integer;
        switch (type) {
            case "long":
                return isWhole ? at(value instanceof Long ? 0 : 1, value.longValue()) : NO;
            case "int":
            case "integer":
                boolean fits = isWhole && value.intValue() == value.longValue();
                return fits ? at(value instanceof Integer ? 0 : 1, value.intValue()) : NO;
            case "byte":
                return isWhole && value.byteValue() == value.longValue() ? at(4, value.byteValue()) : NO;
            case "number":
                return value;
            case "float":
                return at(value instanceof Float ? 0 : isWhole ? 3 : 1, value.floatValue());
            case "double":
                return at(value instanceof Double ? 0 : 2, value.doubleValue());
            default:
                return NO;
        }
    }
}
