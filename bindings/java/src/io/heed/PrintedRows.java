// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Writes the brackets and lines of a printed array as NumPy does: a row is broken before it is too wide. */
final class PrintedRows {
    private static final int WIDTH = 75;
    private static final String LEFT_OUT = "...";

    private final Shape shape;
    private final long[] shown;
    private final String[] elements;
    private final StringBuilder text = new StringBuilder();
    private int next;

    /**
     * Prepares the text.
     *
     * @param shape the shape of the array, without sizes of 0
     * @param shown the number of elements that are shown of each axis; if it is less than the size, half of them at
     *     each end
     * @param elements the texts of the shown elements, in row-major order
     */
    PrintedRows(Shape shape, long[] shown, String[] elements) {
        this.shape = shape;
        this.shown = shown;
        this.elements = elements;
    }

    String text() {
        append(0);
        return text.toString();
    }

    private void append(int axis) {
        if (axis == shown.length) {
            text.append(elements[next++]);
        } else if (axis == shown.length - 1) {
            text.append('[');
            appendRow(axis);
            text.append(']');
        } else {
            text.append('[');
            appendParts(axis);
            text.append(']');
        }
    }

    private void appendParts(int axis) {
        String lineEnd = "\n".repeat(shown.length - 1 - axis) + " ".repeat(axis + 1);
        for (long i = 0; i < shown[axis]; i++) {
            text.append(i == 0 ? "" : lineEnd);
            if (isLeftOutBefore(axis, i)) {
                text.append(LEFT_OUT).append(lineEnd);
            }
            append(axis + 1);
        }
    }

    private void appendRow(int axis) {
        // Leaves room for the closing bracket of each axis.
        int width = WIDTH - axis - 1;
        int indent = axis + 1;
        int column = indent;
        for (long i = 0; i < shown[axis]; i++) {
            if (isLeftOutBefore(axis, i)) {
                column = appendWord(LEFT_OUT, column, indent, width);
            }
            column = appendWord(elements[next++], column, indent, width);
        }
    }

    /** Appends a word to the row, or to a new line if it does not fit. Returns the column after it. */
    private int appendWord(String word, int column, int indent, int width) {
        // A space precedes all words but the first of a line.
        int start = column == indent ? column : column + 1;
        if (start + word.length() > width && column > indent) {
            removeLastSpaces();
            text.append('\n').append(" ".repeat(indent));
            start = indent;
        } else if (start > column) {
            text.append(' ');
        }
        text.append(word);
        return start + word.length();
    }

    private void removeLastSpaces() {
        int end = text.length();
        while (text.charAt(end - 1) == ' ') {
            end--;
        }
        text.setLength(end);
    }

    private boolean isLeftOutBefore(int axis, long i) {
        return shown[axis] < shape.get(axis) && i == shown[axis] / 2;
    }
}
