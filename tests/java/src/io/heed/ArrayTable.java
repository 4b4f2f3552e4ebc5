// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;

/** The cases of tests/golden/data/arrays.txt; tests/golden/array_table.py says what their text means. */
final class ArrayTable {
    private ArrayTable() {}

    /** An input or a result of a case. */
    static final class Entry {
        final DataType type;
        final Shape shape;
        /** The layout of an input; of a result how its numbers are given: "", "units", "within" or "refused". */
        final String kind;
        final String[] words;
        final double units;

        private Entry(String text) {
            int open = text.indexOf('(');
            int close = text.indexOf(')');
            int colon = text.contains(":") ? text.indexOf(':') : text.length();
            type = typeOf(text.substring(0, open - 1));
            shape = new Shape(split(text.substring(open + 1, close), ", ").stream().mapToLong(Long::parseLong).toArray());
            List<String> head = split(text.substring(close + 1, colon).trim(), " ");
            kind = head.isEmpty() ? "" : head.get(0);
            units = kind.equals("units") ? Double.parseDouble(head.get(1)) : 0;
            words = split(text.substring(Math.min(colon + 1, text.length())).trim(), " ").toArray(new String[0]);
        }

        boolean isRefused() {
            return kind.equals("refused");
        }

        double number(int i) {
            return ArrayTable.number(words[kind.equals("within") ? 2 * i : i]);
        }

        /** The elements in the layouts "transposed" and "sliced", otherwise in row-major order. */
        NDArray create(NDManager manager) {
            int rank = shape.dimension();
            int[] order = IntStream.range(0, words.length).toArray();
            if (kind.equals("transposed")) {
                int[] axes = IntStream.range(0, rank).map(axis -> rank - 1 - axis).toArray();
                long[] sizes = Arrays.stream(axes).mapToLong(shape::get).toArray();
                Arrays.setAll(order, i -> placeOf(i, sizes));
                return filled(manager, order, new Shape(sizes)).transpose(axes);
            }
            if (kind.equals("sliced") && rank > 0) {
                // The array twice, along the first axis.
                int[] twice = IntStream.range(0, 2 * words.length).map(i -> i % words.length).toArray();
                long[] sizes = shape.getShape();
                sizes[0] *= 2;
                return filled(manager, twice, new Shape(sizes)).slice(0, sizes[0] / 2, sizes[0] / 2);
            }
            return filled(manager, order, shape);
        }

        /** Where element i of an array with these sizes is in the transposed array. */
        private static int placeOf(int i, long[] sizes) {
            int place = 0;
            int rest = i;
            int[] index = new int[sizes.length];
            for (int axis = sizes.length - 1; axis >= 0; axis--) {
                index[axis] = rest % (int) sizes[axis];
                rest /= (int) sizes[axis];
            }
            for (int axis = sizes.length - 1; axis >= 0; axis--) {
                place = place * (int) sizes[axis] + index[axis];
            }
            return place;
        }

        private NDArray filled(NDManager manager, int[] order, Shape sizes) {
            if (type == DataType.FLOAT64) {
                return manager.create(Arrays.stream(order).mapToDouble(i -> ArrayTable.number(words[i])).toArray(), sizes);
            }
            if (type.isFloating()) {
                float[] elements = new float[order.length];
                for (int i = 0; i < order.length; i++) {
                    // Once rounded to float.
                    String word = words[order[i]];
                    elements[i] = word.endsWith("nan") || word.endsWith("inf") ? (float) ArrayTable.number(word) : Float.parseFloat(word);
                }
                return manager.create(elements, sizes).toType(type, false);
            }
            long[] elements = Arrays.stream(order).mapToLong(i -> Long.parseLong(words[i])).toArray();
            return manager.create(elements, sizes).toType(type, false);
        }

        /** What is wrong with a result; empty if nothing is. */
        String difference(NDArray found) {
            if (found.getDataType() != type || !found.getShape().equals(shape)) {
                return "is " + found.getDataType() + " " + found.getShape() + ", expected " + type + " " + shape;
            }
            if (!type.isFloating()) {
                long[] elements = found.toType(DataType.INT64, false).toLongArray();
                for (int i = 0; i < elements.length; i++) {
                    if (elements[i] != Long.parseLong(words[i])) {
                        return "element " + i + " is " + elements[i] + ", expected " + words[i];
                    }
                }
                return "";
            }
            double[] elements = found.toType(DataType.FLOAT64, false).toDoubleArray();
            NDArray rounded = kind.isEmpty() ? create(found.getManager()).toType(DataType.FLOAT64, false) : null;
            double[] exact = rounded == null ? null : rounded.toDoubleArray();
            for (int i = 0; i < elements.length; i++) {
                double expected = exact == null ? number(i) : exact[i];
                double bound = exact == null ? bound(i) : 0;
                boolean isRight = bound == 0 || Double.isNaN(expected) || Double.isInfinite(expected)
                        ? Double.compare(elements[i], expected) == 0
                        : Math.abs(elements[i] - expected) <= bound;
                if (!isRight) {
                    return "element " + i + " is " + elements[i] + ", expected " + expected + " within " + bound;
                }
            }
            return "";
        }

        private double bound(int i) {
            boolean isNarrow = type == DataType.FLOAT16 || type == DataType.BFLOAT16;
            double number = number(i);
            if (number == 0 && kind.equals("units")) {
                return 0;
            }
            double stated = kind.equals("units")
                    ? units * unit(isNarrow ? DataType.FLOAT32 : type, number)
                    : Double.parseDouble(words[2 * i + 1]);
            if (number == 0 && stated == 0) {
                return 0;
            }
            // Numbers of the table are rounded to double.
            double rounding = type == DataType.FLOAT64 ? unit(type, number) / 2 : 0;
            return stated + rounding + (isNarrow ? unit(type, Math.abs(number) + stated) / 2 : 0);
        }

        private static double unit(DataType type, double number) {
            int smallest = type == DataType.FLOAT64 ? -1022 : type == DataType.FLOAT16 ? -14 : -126;
            int precision = type == DataType.FLOAT64 ? 53
                    : type == DataType.FLOAT16 ? 11 : type == DataType.BFLOAT16 ? 8 : 24;
            int exponent = number == 0 ? smallest : Math.max(Math.getExponent(number), smallest);
            return Math.scalb(1.0, exponent - precision + 1);
        }
    }

    /** A call. */
    static final class Case {
        final String where;
        final String function;
        final Map<String, String> parameters = new HashMap<>();
        /** null where an input or a result is. */
        final List<Entry> inputs = new ArrayList<>();
        final List<Entry> results = new ArrayList<>();

        private Case(int number, String line) {
            where = "line " + number + ": " + line;
            List<String> words = split(line, " ");
            function = words.get(0);
            for (String word : words.subList(1, words.size())) {
                parameters.put(word.substring(0, word.indexOf('=')), word.substring(word.indexOf('=') + 1));
            }
        }

        int integer(String parameter) {
            return Integer.parseInt(parameters.get(parameter));
        }

        boolean isRefused() {
            return results.stream().allMatch(result -> result == null || result.isRefused());
        }
    }

    static List<Case> read() throws IOException {
        List<Case> cases = new ArrayList<>();
        List<String> lines = Files.readAllLines(TestFiles.data("arrays.txt"));
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i);
            char first = line.charAt(0);
            if (first == '<' || first == '>') {
                Case last = cases.get(cases.size() - 1);
                Entry entry = line.endsWith(" -") ? null : new Entry(line.substring(2));
                (first == '<' ? last.inputs : last.results).add(entry);
            } else if (first != '#') {
                cases.add(new Case(i + 1, line));
            }
        }
        return cases;
    }

    private static DataType typeOf(String name) {
        switch (name) {
            case "BOOL":
                return DataType.BOOLEAN;
            case "U8":
                return DataType.UINT8;
            case "BF16":
                return DataType.BFLOAT16;
            default:
                return DataType.valueOf((name.startsWith("F") ? "FLOAT" : "INT") + name.substring(1).toUpperCase(Locale.ROOT));
        }
    }

    private static double number(String word) {
        switch (word) {
            case "nan":
                return Double.NaN;
            case "inf":
                return Double.POSITIVE_INFINITY;
            case "-inf":
                return Double.NEGATIVE_INFINITY;
            default:
                return Double.parseDouble(word);
        }
    }

    private static List<String> split(String text, String separator) {
        return text.isEmpty() ? Collections.emptyList() : Arrays.asList(text.split(separator));
    }
}
