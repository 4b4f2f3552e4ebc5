// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * A part of an array, as DJL's programs write it: an index or a range for each of the first axes, as in NumPy. An index
 * removes its axis; a range "begin:end" keeps it, and either end may be missing; negative numbers count from the end;
 * "..." stands for as many whole axes as are left. Ranges with a step are not supported. Immutable.
 */
public final class NDIndex {
    private static final String ELLIPSIS = "...";

    /** The parts between commas; those of an axis are an index, or the two ends of a range, which may be empty. */
    private final List<String[]> parts = new ArrayList<>();

    /**
     * Reads the text.
     *
     * @param indices the text, such as ":, :{}, 3": it may end in a comma
     * @param args the whole numbers that stand for each "{}", in their order
     * @throws IllegalArgumentException if the text is no such list, or has not as many "{}" as there are numbers
     * @throws UnsupportedOperationException if a range has a step
     */
    public NDIndex(String indices, Object... args) {
        Objects.requireNonNull(indices, "indices");
        Objects.requireNonNull(args, "args");
        String text = filled(indices, args);
        for (String part : text.split(",")) {
            String[] ends = part.trim().split(" *: *", -1);
            if (ends.length > 2) {
                throw new UnsupportedOperationException("indices has the range \"" + part.trim()
                        + "\" with a step, which is not supported: expected begin:end");
            }
            for (String end : ends) {
                boolean isMissing = end.isEmpty() && ends.length == 2;
                if (!isMissing && !isEllipsis(ends) && !end.matches("-?\\d{1,18}")) {
                    throw new IllegalArgumentException("indices has \"" + part.trim()
                            + "\", expected a whole number, a range begin:end or \"...\"");
                }
            }
            parts.add(ends);
        }
        if (parts.stream().filter(NDIndex::isEllipsis).count() > 1) {
            throw new IllegalArgumentException("indices is \"" + text + "\", expected \"...\" at most once");
        }
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (String[] ends : parts) {
            text.append(text.length() == 0 ? "" : ", ").append(String.join(":", ends));
        }
        return text.toString();
    }

    /** The part of an array, as a view. */
    NDArray of(ArrayData array) {
        long[] dims = array.shape.dims();
        int numWhole = dims.length - (int) parts.stream().filter(ends -> !isEllipsis(ends)).count();
        if (numWhole < 0) {
            throw new IllegalArgumentException("indices is \"" + this + "\", expected at most " + dims.length
                    + " indices: the array has the shape " + array.shape);
        }
        Shape left = new Shape();
        NativeTensor part = array.tensor().reshape(dims);
        int axis = 0;
        for (String[] ends : parts) {
            if (isEllipsis(ends)) {
                left = left.addAll(array.shape.slice(axis, axis + numWhole));
                axis += numWhole;
                continue;
            }
            long size = dims[axis];
            boolean isIndex = ends.length == 1;
            try (NativeTensor whole = part) {
                long begin = end(ends[0], 0, size, array);
                long end = isIndex ? begin + 1 : end(ends[1], size, size, array);
                if (isIndex ? begin == size : begin > end) {
                    throw outside(String.join(":", ends), size, array);
                }
                part = whole.slice(axis, begin, end - begin);
                left = isIndex ? left : left.add(end - begin);
            }
            axis++;
        }
        try (NativeTensor whole = part) {
            return array.adopt(whole.reshape(left.addAll(array.shape.slice(axis)).dims()));
        }
    }

    private static boolean isEllipsis(String[] ends) {
        return ends.length == 1 && ends[0].equals(ELLIPSIS);
    }

    private static long end(String text, long missing, long size, ArrayData array) {
        if (text.isEmpty()) {
            return missing;
        }
        long number = Long.parseLong(text);
        if (number < -size || number > size) {
            throw outside(text, size, array);
        }
        return number < 0 ? number + size : number;
    }

    private static IllegalArgumentException outside(String text, long size, ArrayData array) {
        return new IllegalArgumentException("indices has \"" + text + "\", which is no part of an axis of " + size
                + ": the array has the shape " + array.shape);
    }

    private static String filled(String indices, Object[] args) {
        String text = indices;
        for (Object arg : args) {
            if (!(arg instanceof Long || arg instanceof Integer) || !text.contains("{}")) {
                throw new IllegalArgumentException("indices is \"" + indices + "\", and args "
                        + Arrays.toString(args) + ", expected a whole number for each {}");
            }
            text = text.replaceFirst("\\{\\}", arg.toString());
        }
        return text;
    }
}
