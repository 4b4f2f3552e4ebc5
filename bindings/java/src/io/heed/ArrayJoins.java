// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** Joins arrays to one, divides an array, and repeats it. */
final class ArrayJoins {
    private ArrayJoins() {}

    /** Joins arrays along an axis that all of them have. */
    static NDArray concat(NDList arrays, int axis) {
        ArrayData first = first(arrays);
        int joined = Shape.axisFromZero("axis", axis, first.shape.dimension());
        long length = 0;
        for (int i = 0; i < arrays.size(); i++) {
            ArrayData each = sameType(arrays, i, first);
            boolean fits = each.shape.dimension() == first.shape.dimension();
            for (int other = 0; fits && other < first.shape.dimension(); other++) {
                fits = other == joined || each.shape.get(other) == first.shape.get(other);
            }
            if (!fits) {
                throw new IllegalArgumentException("array " + i + " of the list has the shape " + each.shape
                        + ", array 0 has " + first.shape + ", expected the same sizes of all axes but axis " + joined);
            }
            length = Math.addExact(length, each.shape.get(joined));
        }
        long[] dims = first.shape.dims().clone();
        dims[joined] = length;
        NativeTensor[] tensors = arrays.stream().map(NDArray::tensor).toArray(NativeTensor[]::new);
        NDArray made = first.computed(dims, result -> join(tensors, joined, result));
        Tape tape = following(arrays);
        return tape == null ? made : ViewGradients.join(tape, "concat", arrays, joined, made);
    }

    /** Joins arrays of one shape along a new axis. */
    static NDArray stack(NDList arrays, int axis) {
        ArrayData first = first(arrays);
        int added = Shape.axisFromZero("axis", axis, first.shape.dimension() + 1);
        for (int i = 0; i < arrays.size(); i++) {
            Shape shape = sameType(arrays, i, first).shape;
            if (!shape.equals(first.shape)) {
                throw new IllegalArgumentException("array " + i + " of the list has the shape " + shape
                        + ", array 0 has " + first.shape + ", expected the same shape");
            }
        }
        Shape before = first.shape.slice(0, added);
        Shape after = first.shape.slice(added);
        NativeTensor[] parts = new NativeTensor[arrays.size()];
        try {
            for (int i = 0; i < parts.length; i++) {
                parts[i] = arrays.get(i).data().reshaped(before.add(1).addAll(after).dims());
            }
            NDArray made = first.computed(
                    before.add(parts.length).addAll(after).dims(), result -> join(parts, added, result));
            Tape tape = following(arrays);
            return tape == null ? made : ViewGradients.join(tape, "stack", arrays, added, made);
        } finally {
            for (NativeTensor part : parts) {
                if (part != null) {
                    part.close();
                }
            }
        }
    }

    static NDList pair(NDArray array, NDArray other) {
        NDArray.tensorOf(Objects.requireNonNull(other, "array"), "array");
        return new NDList(array, other);
    }

    /** Views of parts of the same length. */
    static NDList split(NDArray array, long sections, int axis) {
        Shape shape = array.getShape();
        int divided = Shape.axisFromZero("axis", axis, shape.dimension());
        long size = shape.get(divided);
        if (sections < 1 || sections > Integer.MAX_VALUE || size % sections != 0) {
            throw new IllegalArgumentException("sections is " + sections + ", expected a divisor of the size " + size
                    + " of axis " + divided + ": the array has the shape " + shape);
        }
        NDList parts = new NDList((int) sections);
        long length = size / sections;
        for (long i = 0; i < sections; i++) {
            parts.add(array.slice(divided, i * length, length));
        }
        return parts;
    }

    /** Views of the parts between indices. */
    static NDList split(NDArray array, long[] indices, int axis) {
        Shape shape = array.getShape();
        int divided = Shape.axisFromZero("axis", axis, shape.dimension());
        long size = shape.get(divided);
        long begin = 0;
        for (int i = 0; i < indices.length; i++) {
            if (indices[i] < begin || indices[i] > size) {
                throw new IllegalArgumentException("indices[" + i + "] is " + indices[i] + ", expected " + begin + " to "
                        + size + ": the array has the shape " + shape + ", and is split along axis " + divided);
            }
            begin = indices[i];
        }
        NDList parts = new NDList(indices.length + 1);
        begin = 0;
        for (int i = 0; i <= indices.length; i++) {
            long end = i == indices.length ? size : indices[i];
            parts.add(array.slice(divided, begin, end - begin));
            begin = end;
        }
        return parts;
    }

    // ---- Inside -----------------------------------------------------------------------------------------------------

    private static void join(NativeTensor[] tensors, int axis, NativeTensor result) {
        long[] pointers = new long[tensors.length];
        int entered = 0;
        try {
            for (NativeTensor tensor : tensors) {
                pointers[entered] = tensor.enter();
                entered++;
            }
            HeedNative.heed_concatenate(pointers, axis, result);
        } finally {
            while (entered > 0) {
                entered--;
                tensors[entered].leave();
            }
        }
    }

    private static Tape following(NDList arrays) {
        return Tape.areAnyOpen() ? Tape.following(arrays.toArray(new NDArray[0])) : null;
    }

    private static ArrayData first(NDList arrays) {
        if (Objects.requireNonNull(arrays, "arrays").isEmpty()) {
            throw new IllegalArgumentException("arrays is empty, expected at least one array");
        }
        return arrays.openArray(0).data();
    }

    private static ArrayData sameType(NDList arrays, int index, ArrayData first) {
        ArrayData array = arrays.openArray(index).data();
        if (array.dataType != first.dataType) {
            throw new IllegalArgumentException("array " + index + " of the list is of " + array.dataType.name()
                    + ", array 0 of " + first.dataType.name() + ", expected the same type: toType converts");
        }
        return array;
    }
}
