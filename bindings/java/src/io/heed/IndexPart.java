// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** One part of an {@link NDIndex}. Arrays of indices and masks choose elements, which are copied; the others give views. */
final class IndexPart {
    /**
     * What a part does to an axis of the array: it takes one index of it, a range or all of it, adds an axis, or takes
     * what an array names.
     */
    enum Kind {
        INDEX,
        RANGE,
        ELLIPSIS,
        NEW_AXIS,
        ARRAY
    }

    final Kind kind;
    /** The index, or the first index of a range; null: from the beginning. */
    final Long begin;
    /** The index after the last of a range; null: to the end. */
    final Long end;
    /** The difference between the indices of a range; null: 1. */
    final Long step;
    /** The indices along an axis, or the mask of as many axes as it has; null for other kinds. */
    final NDArray array;
    /** The text that has the part, and where it stands there; null if the part comes from no text. */
    private final String source;
    private final int position;

    private IndexPart(Kind kind, Long begin, Long end, Long step, NDArray array, String source, int position) {
        this.kind = kind;
        this.begin = begin;
        this.end = end;
        this.step = step;
        this.array = array;
        this.source = source;
        this.position = position;
    }

    static IndexPart index(long index) {
        return new IndexPart(Kind.INDEX, index, null, null, null, null, 0);
    }

    static IndexPart range(Long begin, Long end, Long step) {
        return new IndexPart(Kind.RANGE, begin, end, step, null, null, 0);
    }

    static IndexPart ellipsis() {
        return new IndexPart(Kind.ELLIPSIS, null, null, null, null, null, 0);
    }

    static IndexPart newAxis() {
        return new IndexPart(Kind.NEW_AXIS, null, null, null, null, null, 0);
    }

    /**
     * A part of an array of indices or a mask.
     *
     * @param name what exceptions call it
     */
    static IndexPart array(String name, NDArray array) {
        DataType type = array.getDataType();
        if (type != DataType.INT32 && type != DataType.INT64 && type != DataType.BOOLEAN) {
            throw new IllegalArgumentException(name + " is an array of " + type.name()
                    + ", expected INT32 or INT64 for indices, or BOOLEAN for a mask: use toType");
        }
        if (type == DataType.BOOLEAN && array.getShape().dimension() == 0) {
            throw new IllegalArgumentException(name + " is a mask of shape (), expected at least one axis");
        }
        return new IndexPart(Kind.ARRAY, null, null, null, array, null, 0);
    }

    IndexPart in(String text, int at) {
        return new IndexPart(kind, begin, end, step, array, text, at);
    }

    /** How many axes of the array the part stands for; 0 for an ellipsis. */
    int numAxes() {
        if (kind == Kind.ARRAY) {
            return isMask() ? array.data().shape.dimension() : 1;
        }
        return kind == Kind.INDEX || kind == Kind.RANGE ? 1 : 0;
    }

    boolean isMask() {
        return kind == Kind.ARRAY && array.data().dataType == DataType.BOOLEAN;
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
            case ARRAY:
                return "array " + array.data().description();
            default:
                return text(begin) + ':' + text(end) + (step == null ? "" : ":" + step);
        }
    }

    private static String text(Long number) {
        return number == null ? "" : number.toString();
    }
}
