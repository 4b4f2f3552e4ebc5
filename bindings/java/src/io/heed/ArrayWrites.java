// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Writes to parts of an array. */
final class ArrayWrites {
    private ArrayWrites() {}

    /** Copies a value into the part, converted and repeated as by {@link NDArray#copyTo}. It may share its memory. */
    static void set(ArrayData array, NDIndex index, ArrayData value) {
        array.checkOpen();
        array.countWrite();
        NativeTensor written = array.tensor();
        IndexedAxes axes = IndexedAxes.of(written, array.shape, index);
        if (axes.choice() != null) {
            new ChosenParts(array, axes).set(value);
            return;
        }
        write(array, axes.view(), value);
    }

    /** Writes a part of an array. */
    static void write(ArrayData array, StridedView part, ArrayData value) {
        boolean[] backwards = part.backwards();
        try (NativeTensor target = part.reversed(backwards).of(array.tensor());
                NativeTensor source = alongside(part, backwards, value)) {
            copy(target, source, value);
        }
    }

    static void set(ArrayData array, NDIndex index, Number value) {
        array.checkOpen();
        array.countWrite();
        NativeTensor written = array.tensor();
        IndexedAxes axes = IndexedAxes.of(written, array.shape, index);
        StridedView part = axes.view();
        NumberTensors numbers = NumberTensors.take(array.manager());
        try {
            NativeTensor number = numbers.of("value", value, array.dataType);
            if (axes.choice() != null) {
                new ChosenParts(array, axes).set(number);
                return;
            }
            try (NativeTensor target = part.reversed(part.backwards()).of(written)) {
                target.copy(number);
            }
        } finally {
            numbers.give();
        }
    }

    static void set(ArrayData array, NDArray index, Number value) {
        set(array, ArrayViews.indexOf(array, index), value);
    }

    static void setScalar(ArrayData array, NDIndex index, Number value) {
        array.checkOpen();
        IndexedAxes axes = IndexedAxes.of(array.tensor(), array.shape, index);
        Shape part = new Shape(axes.view().dims);
        if (part.dimension() != 0) {
            throw new IllegalArgumentException(
                    "index is \"" + index + "\", a part of shape " + part + ", expected an index of each axis");
        }
        set(array, index, value);
    }

    /** The value in the order in which the part's elements are written if those axes are turned round. */
    private static NativeTensor alongside(StridedView part, boolean[] backwards, ArrayData value) {
        NativeTensor tensor = value.tensor();
        StridedView whole = StridedView.whole(tensor, value.shape);
        boolean[] turned = new boolean[whole.dims.length];
        int missing = part.dims.length - turned.length;
        for (int axis = Math.max(-missing, 0); axis < turned.length; axis++) {
            turned[axis] = backwards[axis + missing];
        }
        return whole.reversed(turned).of(tensor);
    }

    private static void copy(NativeTensor target, NativeTensor source, ArrayData value) {
        try {
            MessageSink.withoutMessages(() -> {
                target.copy(source);
                return null;
            });
        } catch (IllegalArgumentException overlap) {
            // They may share memory. If that is not why the copy was refused, this one is, too, and says why.
            NativeTensor made = value.create(value.dataType, ArrayData.dimsOf(source));
            try (NativeTensor elements = made) {
                elements.copy(source);
                target.copy(elements);
            }
        }
    }
}
