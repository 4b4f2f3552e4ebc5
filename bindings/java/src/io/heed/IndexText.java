// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Reads the text of an {@link NDIndex}. */
final class IndexText {
    private final String indices;
    private final Object[] args;
    /** How many of the arguments have been put in the place of a "{}". */
    private int used;

    private IndexText(String indices, Object[] args) {
        this.indices = indices;
        this.args = args;
    }

    /** The parts between the commas. The text may end in a comma. */
    static List<IndexPart> read(String indices, Object... args) {
        IndexText text = new IndexText(indices, args);
        List<IndexPart> parts = new ArrayList<>();
        int begin = 0;
        String[] pieces = indices.split(",", -1);
        int count = pieces.length > 1 && pieces[pieces.length - 1].isBlank() ? pieces.length - 1 : pieces.length;
        for (String piece : Arrays.copyOf(pieces, count)) {
            int blanks = piece.length() - piece.stripLeading().length();
            parts.add(text.part(piece.strip(), begin + blanks).in(indices, begin + blanks));
            begin += piece.length() + 1;
        }
        if (text.used < args.length) {
            throw text.wrongArguments();
        }
        return parts;
    }

    private IndexPart part(String written, int position) {
        if (written.equals("...")) {
            return IndexPart.ellipsis();
        }
        if (written.equals("null")) {
            return IndexPart.newAxis();
        }
        if (written.equals("{}") && used < args.length && !isWhole(args[used])) {
            Object arg = args[used++];
            if (arg != null && !(arg instanceof NDArray)) {
                throw wrongArguments();
            }
            return arg == null ? IndexPart.newAxis() : IndexPart.array("args[" + (used - 1) + "]", (NDArray) arg);
        }
        if (written.equals("*")) {
            return IndexPart.range(null, null, null);
        }
        String[] ends = written.split(":", -1);
        Long[] numbers = new Long[3];
        for (int i = 0; i < ends.length; i++) {
            String end = ends[i].strip();
            boolean isMissing = end.isEmpty() && ends.length > 1;
            boolean isOpen = end.equals("{}");
            if (ends.length > numbers.length || !isMissing && !isOpen && !end.matches("-?\\d{1,18}")) {
                throw new IllegalArgumentException("indices has \"" + written + '"' + IndexPart.at(position, indices)
                        + ", expected a whole number, a range begin:end or begin:end:step, \"...\", \"*\" or \"null\"");
            }
            numbers[i] = isMissing ? null : isOpen ? nextNumber() : Long.valueOf(end);
        }
        if (numbers[2] != null && numbers[2] == 0) {
            throw new IllegalArgumentException("indices has \"" + written + '"' + IndexPart.at(position, indices)
                    + " with the step 0, expected another number");
        }
        return ends.length == 1 ? IndexPart.index(numbers[0]) : IndexPart.range(numbers[0], numbers[1], numbers[2]);
    }

    /** The argument in the place of a "{}" that is an index or an end of a range. */
    private long nextNumber() {
        if (used == args.length || !isWhole(args[used])) {
            throw wrongArguments();
        }
        return ((Number) args[used++]).longValue();
    }

    private static boolean isWhole(Object arg) {
        return arg instanceof Long || arg instanceof Integer;
    }

    private IllegalArgumentException wrongArguments() {
        Object[] described = Arrays.stream(args)
                .map(arg -> arg instanceof NDArray ? ((NDArray) arg).data().description() : arg)
                .toArray();
        return new IllegalArgumentException("indices is \"" + indices + "\", and args " + Arrays.toString(described)
                + ", expected for each {} a whole number, alone an array of indices or a mask, or null for a new axis");
    }
}
