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

    /** The parts between the commas, the last of which may be missing. */
    static List<IndexPart> read(String indices, Object... args) {
        IndexText text = new IndexText(indices, args);
        List<IndexPart> parts = new ArrayList<>();
        int begin = 0;
        String[] pieces = indices.split(",");
        for (String piece : pieces.length == 0 ? new String[] {""} : pieces) {
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
        if (written.equals("null") || written.equals("{}") && used < args.length && args[used] == null) {
            used += written.equals("{}") ? 1 : 0;
            return IndexPart.newAxis();
        }
        if (written.equals("*")) {
            return IndexPart.range(null, null, null);
        }
        String[] ends = filled(written).split(":", -1);
        Long[] numbers = new Long[3];
        for (int i = 0; i < ends.length; i++) {
            String end = ends[i].strip();
            boolean isMissing = end.isEmpty() && ends.length > 1;
            if (ends.length > numbers.length || !isMissing && !end.matches("-?\\d{1,18}")) {
                throw new IllegalArgumentException("indices has \"" + written + '"' + IndexPart.at(position, indices)
                        + ", expected a whole number, a range begin:end or begin:end:step, \"...\", \"*\" or \"null\"");
            }
            numbers[i] = isMissing ? null : Long.valueOf(end);
        }
        if (numbers[2] != null && numbers[2] == 0) {
            throw new IllegalArgumentException("indices has \"" + written + '"' + IndexPart.at(position, indices)
                    + " with the step 0, expected another number");
        }
        return ends.length == 1 ? IndexPart.index(numbers[0]) : IndexPart.range(numbers[0], numbers[1], numbers[2]);
    }

    /** The part of the text with the next arguments in the place of each "{}". */
    private String filled(String written) {
        String filled = written;
        for (int place = filled.indexOf("{}"); place >= 0; place = filled.indexOf("{}")) {
            if (used == args.length || !(args[used] instanceof Long || args[used] instanceof Integer)) {
                throw wrongArguments();
            }
            filled = filled.substring(0, place) + args[used++] + filled.substring(place + 2);
        }
        return filled;
    }

    private IllegalArgumentException wrongArguments() {
        return new IllegalArgumentException("indices is \"" + indices + "\", and args " + Arrays.toString(args)
                + ", expected a whole number for each {}, or null for a new axis");
    }
}
