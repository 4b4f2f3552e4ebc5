// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.List;

/**
 * Finds the view of an array that the parts of an {@link NDIndex} name, axis by axis. Of an array of indices or a mask, it
 * has the axes that they choose from.
 */
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

    /** The array of indices or the mask; null without one. */
    private IndexPart choice;
    /** The first axis that it chooses from, of the view and of the array. */
    private int choiceAxis;

    private int chosenAxis;

    private IndexedAxes(long[] steps, Shape shape, int mostAxes) {
        this.shape = shape;
        sizes = shape.dims();
        this.steps = steps;
        dims = new long[mostAxes];
        strides = new long[mostAxes];
    }

    static IndexedAxes of(NativeTensor tensor, Shape shape, NDIndex index) {
        return of(StridedView.stridesOf(tensor, shape), shape, index);
    }

    /** The same of an array with these strides. */
    static IndexedAxes of(long[] steps, Shape shape, NDIndex index) {
        List<IndexPart> parts = index.parts();
        int whole = shape.dimension() - index.getRank();
        if (whole < 0) {
            throw new IllegalArgumentException("indices is \"" + index + "\", expected at most "
                    + shape.dimension() + " indices: the array has the shape " + shape);
        }
        IndexedAxes axes = new IndexedAxes(steps, shape, shape.dimension() + parts.size());
        if (parts.stream().filter(part -> part.kind == IndexPart.Kind.ARRAY).count() > 1) {
            throw new IllegalArgumentException("indices is \"" + index
                    + "\", expected one array of indices or one mask at most");
        }
        for (IndexPart part : parts) {
            axes.take(part, whole);
        }
        axes.takeWhole(axes.sizes.length - axes.axis);
        if (axes.choice != null && isApart(parts)) {
            axes.moveChoiceToFront();
        }
        return axes;
    }

    StridedView view() {
        return new StridedView(Arrays.copyOf(dims, rank), Arrays.copyOf(strides, rank), offset);
    }

    /** The array of indices or the mask of the index; null without one. */
    NDArray choice() {
        return choice == null ? null : choice.array;
    }

    /** The first of the axes of the view that the array or the mask chooses from. */
    int choiceAxis() {
        return choiceAxis;
    }

    /** The same axis of the array. */
    int chosenAxis() {
        return chosenAxis;
    }

    /** Whether a range, an ellipsis or a new axis is between the array and a number: then NumPy puts the array's axes first. */
    private static boolean isApart(List<IndexPart> parts) {
        int first = parts.size();
        int last = 0;
        int count = 0;
        for (int i = 0; i < parts.size(); i++) {
            if (parts.get(i).kind == IndexPart.Kind.INDEX || parts.get(i).kind == IndexPart.Kind.ARRAY) {
                first = Math.min(first, i);
                last = i;
                count++;
            }
        }
        return last - first + 1 != count;
    }

    private void moveChoiceToFront() {
        int count = choice.numAxes();
        for (long[] each : new long[][] {dims, strides}) {
            long[] chosen = Arrays.copyOfRange(each, choiceAxis, choiceAxis + count);
            System.arraycopy(each, 0, each, count, choiceAxis);
            System.arraycopy(chosen, 0, each, 0, count);
        }
        choiceAxis = 0;
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
            case ARRAY:
                takeChoice(part);
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

    private void takeChoice(IndexPart part) {
        NDArray.tensorOf(part.array, "indices");
        choice = part;
        choiceAxis = rank;
        chosenAxis = axis;
        Shape chosen = shape.slice(axis, axis + part.numAxes());
        Shape mask = part.array.data().shape;
        if (part.isMask() && !mask.equals(chosen)) {
            throw new IllegalArgumentException("the mask has the shape " + mask + ", expected " + chosen
                    + ", the sizes of the axes from " + axis + " on: the array has the shape " + shape);
        }
        takeWhole(part.numAxes());
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
