// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.Objects;

/** Arithmetic on arrays, and comparison of arrays. */
final class ArrayMath {
    /** How many elements of each array are compared at once. */
    private static final long PIECE = 1 << 20;

    private ArrayMath() {}

    static NDArray activated(ArrayData a, ActivationKind activation, NDArray result) {
        a.checkOpen();
        Tape tape = result == null ? Tape.following(a) : null;
        NDArray target = result == null ? a.made(a.dataType, a.shape) : ResultArray.target(result);
        try {
            HeedNative.heed_activation(a.tensor(), activation.code, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : ChoiceGradients.activation(tape, activation, a, computed);
    }

    /**
     * The pairs of elements, rotated by tables.
     *
     * @param positions null: each row has its own numbers
     */
    static NDArray rotated(
            ArrayData a, ArrayData cosines, ArrayData sines, ArrayData positions, RopeLayout layout, NDArray result) {
        Objects.requireNonNull(layout, "layout");
        NDArray target = result == null ? a.made(a.dataType, a.shape) : ResultArray.target(result);
        NativeTensor rows = positions == null ? null : positions.tensor();
        try {
            HeedNative.heed_rotary_embedding(
                    a.tensor(), cosines.tensor(), sines.tensor(), rows, layout.code, target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        return ResultArray.finished(result, target);
    }

    static NDArray product(ArrayData left, ArrayData right, NDArray result) {
        Tape tape = result == null ? Tape.following(left, right) : null;
        NDArray target = result == null
                ? left.made(
                        ResultRules.common(left.dataType, right.dataType),
                        new Shape(productDims(left.shape.dims(), right.shape.dims())))
                : ResultArray.target(result);
        try {
            HeedNative.heed_matmul(left.tensor(), right.tensor(), target.tensor());
        } catch (Throwable error) {
            throw ResultArray.dropped(result, target, error);
        }
        NDArray computed = ResultArray.finished(result, target);
        return tape == null ? computed : ProductGradients.record(tape, left, right, computed);
    }

    static NDArray batchProduct(ArrayData left, ArrayData right, NDArray result) {
        if (left.shape.dimension() != 3 || right.shape.dimension() != 3 || left.shape.get(0) != right.shape.get(0)) {
            throw new IllegalArgumentException("the arrays have the shapes " + left.shape + " and " + right.shape
                    + ", expected (B, M, K) and (B, K, N)");
        }
        return product(left, right, result);
    }

    /** NumPy's dot. */
    static NDArray dot(NDArray left, NDArray right, NDArray result) {
        left.data().checkOpen();
        NDArray.tensorOf(right, "other");
        int rank = right.data().shape.dimension();
        if (left.data().shape.dimension() == 0 || rank == 0) {
            return ArrayArithmetic.of(ElementFunction.MUL, left.data(), right.data(), result);
        }
        if (rank <= 2) {
            return product(left.data(), right.data(), result);
        }
        // The axis of the sums comes first, and the others become one.
        int[] axes = new int[rank];
        axes[0] = rank - 2;
        for (int axis = 1; axis < rank; axis++) {
            axes[axis] = axis < rank - 1 ? axis - 1 : rank - 1;
        }
        Shape rows = left.data().shape.slice(0, left.data().shape.dimension() - 1);
        Shape others = right.data().shape.slice(0, rank - 2).add(right.data().shape.get(rank - 1));
        try (NDArray moved = right.transpose(axes);
                NDArray matrix = moved.reshape(right.data().shape.get(rank - 2), others.size());
                NDArray product = left.matMul(matrix)) {
            if (result == null) {
                return product.reshape(rows.addAll(others));
            }
            try (NDArray whole = product.reshape(rows.addAll(others))) {
                return ResultArray.copied(whole, whole.data().dataType, result);
            }
        }
    }

    /** Whether all elements of two arrays of the same shape are close. */
    static boolean areClose(ArrayData a, ArrayData b, double rtol, double atol, boolean equalNan) {
        double[] left = ArrayElements.widened(a);
        double[] right = ArrayElements.widened(b);
        for (int i = 0; i < left.length; i++) {
            boolean close = Double.isInfinite(left[i]) || Double.isInfinite(right[i])
                    ? left[i] == right[i]
                    : Math.abs(left[i] - right[i]) <= atol + rtol * Math.abs(right[i]);
            if (!close && !(equalNan && Double.isNaN(left[i]) && Double.isNaN(right[i]))) {
                return false;
            }
        }
        return true;
    }

    /** Whether all elements of two arrays of the same shape and type are equal. */
    static boolean areEqual(ArrayData a, ArrayData b, boolean equalNan) {
        long size = a.shape.size();
        try (NativeTensor left = a.reshaped(size);
                NativeTensor right = b.reshaped(size)) {
            for (long start = 0; start < size; start += PIECE) {
                long length = Math.min(PIECE, size - start);
                try (NativeTensor some = left.slice(0, start, length);
                        NativeTensor others = right.slice(0, start, length)) {
                    if (!arePiecesEqual(a.withTensor(some), b.withTensor(others), equalNan)) {
                        return false;
                    }
                }
            }
            return true;
        }
    }

    private static boolean arePiecesEqual(ArrayData a, ArrayData b, boolean equalNan) {
        if (a.dataType == DataType.INT64) {
            return Arrays.equals(ArrayElements.longs(a), ArrayElements.longs(b));
        }
        double[] left = ArrayElements.widened(a);
        double[] right = ArrayElements.widened(b);
        for (int i = 0; i < left.length; i++) {
            if (left[i] != right[i] && !(equalNan && Double.isNaN(left[i]) && Double.isNaN(right[i]))) {
                return false;
            }
        }
        return true;
    }

    /** The shape of heed_matmul's result. If the operands do not fit, it is a small one, and heed_matmul refuses the call. */
    private static long[] productDims(long[] a, long[] b) {
        if (a.length == 0 || b.length == 0 || a[a.length - 1] != b[Math.max(b.length - 2, 0)]) {
            return new long[0];
        }
        int batchRank = Math.max(Math.max(a.length, b.length) - 2, 0);
        Shape dims = new Shape();
        for (int axis = -batchRank - 2; axis < -2; axis++) {
            long left = a.length + axis < 0 ? 1 : a[a.length + axis];
            long right = b.length + axis < 0 ? 1 : b[b.length + axis];
            if (left != right && left != 1 && right != 1) {
                return new long[0];
            }
            dims = dims.add(left == 1 ? right : left);
        }
        dims = a.length > 1 ? dims.add(a[a.length - 2]) : dims;
        return (b.length > 1 ? dims.add(b[b.length - 1]) : dims).dims();
    }
}
