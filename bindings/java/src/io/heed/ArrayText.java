// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;

/** The text of an array, for people to read. */
final class ArrayText {
    private static final long MAX_ELEMENTS = 1000;

    private ArrayText() {}

    /** Returns the text of an array: a line with shape and type, then the elements as NumPy prints them. */
    static String of(ArrayData array) {
        try {
            if (array.isOpen()) {
                String device = array.isOnCpu() ? "" : " on " + array.manager().getDevice();
                return "NDArray " + array.shape + " " + array.dataType + device + "\n"
                        + NativeText.from((text, capacity) -> array.tensor().toText(text, capacity));
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
