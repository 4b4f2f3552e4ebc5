// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;

/** The text of an array, for people to read. */
final class ArrayText {
    private static final long MAX_ELEMENTS = 1000;
    /**
     * How many elements of an axis are printed at each of its ends, if the array has more than MAX_ELEMENTS elements.
     */
    private static final int EDGE = 3;

    private ArrayText() {}

    /** Returns the text of an array: a line with shape and type, then the elements as NumPy prints them. */
    static String of(ArrayData array) {
        try {
            if (array.isOpen()) {
                String device = array.isOnCpu() ? "" : " on " + array.manager().getDevice();
                return "NDArray " + array.shape + " " + array.dataType + device + "\n" + elements(array);
            }
        } catch (IllegalStateException error) {
            // Another thread may have closed the array meanwhile.
            if (array.isOpen()) {
                throw error;
            }
        }
        return "NDArray " + array.description();
    }

    static String debugString(ArrayData array) {
        array.checkOpen();
        StringBuilder text = new StringBuilder(
                "ND: " + array.shape + " " + array.manager().getDevice() + " " + array.dataType + "\n");
        if (array.shape.size() > MAX_ELEMENTS) {
            return text.append("[ more than ").append(MAX_ELEMENTS).append(" elements ]\n").toString();
        }
        if (array.shape.size() == 0) {
            return text.append("[]\n").toString();
        }
        append(text, array.shape, elementTexts(array), 0, 0);
        return text.append('\n').toString();
    }

    // ---- As NumPy ---------------------------------------------------------------------------------------------------

    private static String elements(ArrayData array) {
        if (array.shape.size() == 0) {
            return "[]";
        }
        boolean isCut = array.shape.size() > MAX_ELEMENTS;
        long[] shown = array.shape.getShape();
        if (isCut) {
            Arrays.setAll(shown, axis -> Math.min(shown[axis], 2 * EDGE));
        }
        return new PrintedRows(array.shape, shown, shownTexts(array, shown)).text();
    }

    private static String[] shownTexts(ArrayData array, long[] shown) {
        boolean isFloating = array.dataType.isFloating();
        int count = (int) new Shape(shown).size();
        DataType type = isFloating ? DataType.FLOAT64 : DataType.INT64;
        NativeContext host = array.manager().hostContext();
        try (NativeTensor elements = NativeTensor.create(host, type.code, shown)) {
            copyEdges(elements, array.tensor(), 0);
            if (!isFloating) {
                long[] numbers = new long[count];
                elements.read(numbers);
                return array.dataType.isBoolean() ? booleans(numbers, shown.length) : integers(numbers);
            }
            double[] numbers = new double[count];
            elements.read(numbers);
            return shown.length == 0
                    ? new String[] {FloatTexts.single(numbers[0], array.dataType)}
                    : FloatTexts.aligned(numbers, array.dataType);
        }
    }

    /** Copies the elements that are printed: of an axis that is longer in the source than in the target, both ends. */
    private static void copyEdges(NativeTensor target, NativeTensor source, int axis) {
        if (axis == target.rank()) {
            target.copy(source);
        } else if (target.dim(axis) == source.dim(axis)) {
            copyEdges(target, source, axis + 1);
        } else {
            for (long start : new long[] {0, -EDGE}) {
                try (NativeTensor to = target.slice(axis, start, EDGE);
                        NativeTensor from = source.slice(axis, start, EDGE)) {
                    copyEdges(to, from, axis + 1);
                }
            }
        }
    }

    private static String[] integers(long[] numbers) {
        String[] texts = Arrays.stream(numbers).mapToObj(Long::toString).toArray(String[]::new);
        int width = Arrays.stream(texts).mapToInt(String::length).max().orElse(0);
        return Arrays.stream(texts).map(text -> " ".repeat(width - text.length()) + text).toArray(String[]::new);
    }

    private static String[] booleans(long[] numbers, int rank) {
        String yes = rank == 0 ? "True" : " True";
        return Arrays.stream(numbers).mapToObj(number -> number == 0 ? "False" : yes).toArray(String[]::new);
    }

    // ---- With all digits --------------------------------------------------------------------------------------------

    private static String[] elementTexts(ArrayData array) {
        String[] texts = new String[array.javaSize()];
        if (array.dataType.isFloating()) {
            double[] elements = ArrayElements.widened(array);
            boolean wide = array.dataType == DataType.FLOAT64;
            Arrays.setAll(texts, i -> wide ? Double.toString(elements[i]) : Float.toString((float) elements[i]));
        } else if (array.dataType.isBoolean()) {
            boolean[] elements = ArrayElements.booleans(array);
            Arrays.setAll(texts, i -> Boolean.toString(elements[i]));
        } else {
            long[] elements = new long[texts.length];
            array.read(DataType.INT64, source -> source.read(elements));
            Arrays.setAll(texts, i -> Long.toString(elements[i]));
        }
        return texts;
    }

    /**
     * Appends the elements along the axes from `axis` on, beginning with the element at index `start`. Returns the
     * index after the last.
     */
    private static int append(StringBuilder text, Shape shape, String[] elements, int axis, int start) {
        if (axis == shape.dimension()) {
            text.append(elements[start]);
            return start + 1;
        }
        boolean innermost = axis == shape.dimension() - 1;
        int next = start;
        text.append('[');
        for (long i = 0; i < shape.get(axis); i++) {
            text.append(i == 0 ? "" : innermost ? ", " : ",\n" + " ".repeat(axis + 1));
            next = append(text, shape, elements, axis + 1, next);
        }
        text.append(']');
        return next;
    }
}
