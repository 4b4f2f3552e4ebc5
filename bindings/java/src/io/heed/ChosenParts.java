// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;

/**
 * What an array of indices or a mask in an {@link NDIndex} chooses of an array. It is read as a copy, and written in place,
 * as in NumPy.
 */
final class ChosenParts {
    /** If so many times more indices are on the axis than are chosen, each part is written by itself. */
    private static final int FEW = 16;

    private final ArrayData array;
    private final StridedView view;
    private final ArrayData choice;
    /** The axis of the array that indices are of, for messages. */
    private final int chosenAxis;

    private final Shape before;
    /** The sizes of the axes that are chosen from. */
    private final Shape from;
    private final Shape after;

    ChosenParts(ArrayData array, IndexedAxes axes) {
        this.array = array;
        view = axes.view();
        choice = axes.choice().data();
        chosenAxis = axes.chosenAxis();
        int end = axes.choiceAxis() + (isMask() ? choice.shape.dimension() : 1);
        Shape shape = new Shape(view.dims);
        before = shape.slice(0, axes.choiceAxis());
        from = shape.slice(axes.choiceAxis(), end);
        after = shape.slice(end);
    }

    NDArray get() {
        try (NativeTensor all = view.of(array.tensor())) {
            ArrayData part = array.withTensor(all);
            long[] places = places();
            if (!isMask()) {
                return ArrayOrder.taken(part, choice, axis(), null);
            }
            try (NativeTensor joined = part.reshaped(around(new Shape(from.size())).dims());
                    NativeTensor indices = part.create(DataType.INT64, places.length)) {
                indices.write(places);
                return ArrayOrder.taken(part.withTensor(joined), part.withTensor(indices), axis(), null);
            }
        }
    }

    /** The same, of the array's view as an array of its own, for a gradient collector. */
    NDArray of(NDArray all) {
        long[] places = places();
        if (!isMask()) {
            return ArrayOrder.taken(all.data(), choice, axis(), null);
        }
        try (NDArray joined = all.reshape(around(new Shape(from.size())));
                NDArray indices = joined.getManager().create(places, new Shape(places.length))) {
            return ArrayOrder.taken(joined.data(), indices.data(), axis(), null);
        }
    }

    /** Writes elements, which are converted and repeated as by {@link NDArray#copyTo}. They may share the memory. */
    void set(ArrayData value) {
        long[] places = places();
        Shape wanted = around(isMask() ? new Shape(places.length) : choice.shape);
        try (NativeTensor copy = array.create(array.dataType, wanted.dims())) {
            copy.copy(value.tensor());
            try (NativeTensor parts = copy.reshape(around(new Shape(places.length)).dims())) {
                write(places, parts);
            }
        }
    }

    /** Writes a number, which is an array of one element and of the array's type. */
    void set(NativeTensor number) {
        boolean isNear = choice.manager().getDevice().equals(array.manager().getDevice());
        // A mask of BOOLEAN elements may be a view of them in another order: its places are read before they are written.
        if (!isMask() || !isNear || array.dataType == DataType.BOOLEAN) {
            write(places(), number);
            return;
        }
        boolean[] backwards = view.backwards();
        try (NativeTensor target = view.reversed(backwards).of(array.tensor());
                NativeTensor truth = choice.reshaped(conditionDims());
                NativeTensor condition = reversed(truth, backwards)) {
            HeedNative.heed_select(condition, number, target, target);
        }
    }

    private boolean isMask() {
        return choice.dataType == DataType.BOOLEAN;
    }

    private int axis() {
        return before.dimension();
    }

    private Shape around(Shape chosen) {
        return before.addAll(chosen).addAll(after);
    }

    /** What is chosen, as positions from 0 in row-major order of the axes that are chosen from. */
    private long[] places() {
        if (isMask()) {
            boolean[] mask = ArrayElements.booleans(choice);
            long[] places = new long[mask.length];
            int count = 0;
            for (int i = 0; i < mask.length; i++) {
                places[count] = i;
                count += mask[i] ? 1 : 0;
            }
            return Arrays.copyOf(places, count);
        }
        long size = from.size();
        long[] places = new long[choice.javaSize()];
        choice.read(DataType.INT64, source -> source.read(places));
        for (int i = 0; i < places.length; i++) {
            if (places[i] < -size || places[i] >= size) {
                throw new IllegalArgumentException("indices has an array with " + places[i] + " at index " + indexOf(i)
                        + (size == 0 ? ", but axis " : ", expected " + -size + " to " + (size - 1) + ": axis ") + chosenAxis
                        + (size == 0 ? " has no elements" : " has the size " + size));
            }
            places[i] += places[i] < 0 ? size : 0;
        }
        return places;
    }

    /** The index of an element of the array of indices. */
    private Shape indexOf(long element) {
        long[] index = new long[choice.shape.dimension()];
        for (int axis = index.length - 1; axis >= 0; axis--) {
            index[axis] = element % choice.shape.get(axis);
            element /= choice.shape.get(axis);
        }
        return new Shape(index);
    }

    /**
     * Writes parts to their places; the last one, if some have the same place.
     *
     * @param parts of the array's type: one for each place along the axis, or a number
     */
    private void write(long[] places, NativeTensor parts) {
        boolean[] backwards = view.backwards();
        try (NativeTensor target = view.reversed(backwards).of(array.tensor())) {
            if (!isMask() && places.length > 0 && places.length < from.size() / FEW) {
                writeEach(target, backwards, places, parts);
            } else {
                writeAll(target, backwards, places, parts);
            }
        }
    }

    private void writeEach(NativeTensor target, boolean[] backwards, long[] places, NativeTensor parts) {
        boolean[] turned = backwards.clone();
        turned[axis()] = false;
        boolean isNumber = parts.rank() == 0;
        try (NativeTensor sources = isNumber ? parts.reshape(new long[0]) : reversed(parts, turned)) {
            for (int i = 0; i < places.length; i++) {
                long place = backwards[axis()] ? from.size() - 1 - places[i] : places[i];
                try (NativeTensor one = target.slice(axis(), place, 1);
                        NativeTensor source = isNumber ? sources.reshape(new long[0]) : sources.slice(axis(), i, 1)) {
                    one.copy(source);
                }
            }
        }
    }

    private void writeAll(NativeTensor target, boolean[] backwards, long[] places, NativeTensor parts) {
        int size = Math.toIntExact(from.size());
        boolean[] isChosen = new boolean[size];
        long[] sources = new long[size];
        for (int i = 0; i < places.length; i++) {
            isChosen[(int) places[i]] = true;
            sources[(int) places[i]] = i;
        }
        try (NativeTensor truth = array.create(DataType.BOOLEAN, conditionDims());
                NativeTensor condition = reversed(truth, backwards)) {
            truth.write(isChosen);
            if (places.length == 0) {
                HeedNative.heed_select(condition, target, target, target);
            } else if (parts.rank() == 0) {
                HeedNative.heed_select(condition, parts, target, target);
            } else {
                try (NativeTensor indices = array.create(DataType.INT64, from.dims());
                        NativeTensor spread = array.create(array.dataType, around(from).dims());
                        NativeTensor elements = reversed(spread, backwards)) {
                    indices.write(sources);
                    HeedNative.heed_take(parts, indices, axis(), spread);
                    HeedNative.heed_select(condition, elements, target, target);
                }
            }
        }
    }

    /** The sizes of the axes that are chosen from, and 1 for the others. */
    private long[] conditionDims() {
        long[] dims = around(from).dims().clone();
        Arrays.fill(dims, 0, axis(), 1);
        Arrays.fill(dims, axis() + from.dimension(), dims.length, 1);
        return dims;
    }

    private static NativeTensor reversed(NativeTensor tensor, boolean[] axes) {
        return StridedView.whole(tensor, new Shape(ArrayData.dimsOf(tensor))).reversed(axes).of(tensor);
    }
}
