// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * One part of an {@link NDIndex}. All of these give views; arrays of indices and masks, which copy, would be kinds of
 * their own, for which NDIndex gathers instead of making a view.
 */
final class IndexPart {
    /** What a part does to an axis of the array: it takes one index of it, a range or all of it, or adds an axis. */
    enum Kind {
        INDEX,
        RANGE,
        ELLIPSIS,
        NEW_AXIS
    }

    final Kind kind;
    /** The index, or the first index of a range; null: from the beginning. */
    final Long begin;
    /** The index after the last of a range; null: to the end. */
    final Long end;
    /** The difference between the indices of a range; null: 1. */
    final Long step;
    /** The text that has the part, and where it stands there; null if the part comes from no text. */
    private final String source;
    private final int position;

    private IndexPart(Kind kind, Long begin, Long end, Long step, String source, int position) {
        this.kind = kind;
        this.begin = begin;
        this.end = end;
        this.step = step;
        this.source = source;
        this.position = position;
    }

    static IndexPart index(long index) {
        return new IndexPart(Kind.INDEX, index, null, null, null, 0);
    }

    static IndexPart range(Long begin, Long end, Long step) {
        return new IndexPart(Kind.RANGE, begin, end, step, null, 0);
    }

    static IndexPart ellipsis() {
        return new IndexPart(Kind.ELLIPSIS, null, null, null, null, 0);
    }

    static IndexPart newAxis() {
        return new IndexPart(Kind.NEW_AXIS, null, null, null, null, 0);
    }

    IndexPart in(String text, int at) {
        return new IndexPart(kind, begin, end, step, text, at);
    }

    /** Whether the part stands for exactly one axis of the array. */
    boolean takesAxis() {
        return kind == Kind.INDEX || kind == Kind.RANGE;
    }

    /** The part for messages: what it is, and where it stands. */
    String described() {
        return '"' + toString() + '"' + (source == null ? "" : at(position, source));
    }

    /** Where a part stands in a text, for messages. */
    static String at(int position, String source) {
        return " at character " + position + " of \"" + source + '"';
    }

    @Override
    public String toString() {
        switch (kind) {
            case INDEX:
                return begin.toString();
            case ELLIPSIS:
                return "...";
            case NEW_AXIS:
                return "null";
            default:
                return text(begin) + ':' + text(end) + (step == null ? "" : ":" + step);
        }
    }

    private static String text(Long number) {
        return number == null ? "" : number.toString();
    }
}
