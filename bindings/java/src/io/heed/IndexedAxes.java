// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.List;

/** Finds the view of an array that the parts of an {@link NDIndex} name, axis by axis. */
final class IndexedAxes {
    private final Shape shape;
    private final long[] sizes;
    private final long[] steps;
    /** The next axis of the array. */
    private int axis;

    private final long[] dims;
    private final long[] strides;
    /** How many axes of the view are known. */
    private int rank;

    private long offset;

    private IndexedAxes(NativeTensor tensor, Shape shape, int mostAxes) {
        this.shape = shape;
        sizes = shape.dims();
        steps = StridedView.stridesOf(tensor, shape);
        dims = new long[mostAxes];
        strides = new long[mostAxes];
    }

    static StridedView view(NativeTensor tensor, Shape shape, NDIndex index) {
        List<IndexPart> parts = index.parts();
        int whole = shape.dimension() - index.getRank();
        if (whole < 0) {
            throw new IllegalArgumentException("indices is \"" + index + "\", expected at most "
                    + shape.dimension() + " indices: the array has the shape " + shape);
        }
        IndexedAxes axes = new IndexedAxes(tensor, shape, shape.dimension() + parts.size());
        for (IndexPart part : parts) {
            axes.take(part, whole);
        }
        axes.takeWhole(axes.sizes.length - axes.axis);
        return new StridedView(
                Arrays.copyOf(axes.dims, axes.rank), Arrays.copyOf(axes.strides, axes.rank), axes.offset);
    }

    private void take(IndexPart part, int whole) {
        switch (part.kind) {
            case INDEX:
                takeIndex(part);
                break;
            case RANGE:
                takeRange(part);
                break;
            case ELLIPSIS:
                takeWhole(whole);
                break;
            default:
                add(1, 1);
        }
    }

    private void takeWhole(int count) {
        for (int i = 0; i < count; i++) {
            add(sizes[axis], steps[axis]);
            axis++;
        }
    }

    private void takeIndex(IndexPart part) {
        long size = sizes[axis];
        if (part.begin < -size || part.begin >= size) {
            throw outside(part, size == 0 ? "but that axis has no elements" : "expected " + -size + " to " + (size - 1));
        }
        offset += fromZero(part.begin, size) * steps[axis];
        axis++;
    }

    private void takeRange(IndexPart part) {
        long size = sizes[axis];
        long step = part.step == null ? 1 : part.step;
        // A range that runs backwards begins at an index, and may end before the first one.
        long last = step > 0 ? size : size - 1;
        check(part, part.begin, size, last);
        check(part, part.end, size, last);
        long begin = part.begin == null ? (step > 0 ? 0 : size - 1) : fromZero(part.begin, size);
        long end = part.end == null ? (step > 0 ? size : -1) : fromZero(part.end, size);
        if (step > 0 ? begin > end : begin < end) {
            throw outside(part, step > 0
                    ? "expected an end at or after its begin" : "expected an end at or before its begin");
        }
        long count = begin == end ? 0 : 1 + (end - begin - (step > 0 ? 1 : -1)) / step;
        offset += count == 0 ? 0 : begin * steps[axis];
        add(count, count > 1 ? step * steps[axis] : steps[axis]);
        axis++;
    }

    private void add(long size, long stride) {
        dims[rank] = size;
        strides[rank] = stride;
        rank++;
    }

    private void check(IndexPart part, Long end, long size, long last) {
        if (end != null && (end < -size || end > last)) {
            throw outside(part, size == 0 && last < 0
                    ? "but that axis has no elements" : "expected its ends from " + -size + " to " + last);
        }
    }

    private static long fromZero(long index, long size) {
        return index < 0 ? index + size : index;
    }

    private IllegalArgumentException outside(IndexPart part, String expected) {
        return new IllegalArgumentException("indices has " + part.described() + " for axis " + axis + " of size "
                + sizes[axis] + ", " + expected + ": the array has the shape " + shape);
    }
}
