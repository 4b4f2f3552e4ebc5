// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/** The helper functions of d2l's chapter on attention. Their results belong to the manager of their argument. */
public final class Chap10Utils {
    private Chap10Utils() {}

    /**
     * Moves the heads, which are next to each other in the last axis, into the batch: (B, S, H * D) becomes (B * H, S,
     * D), with the heads of a batch element next to each other.
     *
     * @param X the array
     * @param numHeads the number of heads H
     * @return a new array
     * @throws IllegalArgumentException if the array does not have three axes, or the last is no multiple of H
     */
    public static NDArray transposeQkv(NDArray X, int numHeads) {
        Shape shape = threeAxes(X);
        checkMultiple("axis 2", shape.get(2), numHeads);
        try (NDArray split = X.reshape(shape.get(0), shape.get(1), numHeads, shape.get(2) / numHeads)) {
            return exchanged(split, shape.get(0) * numHeads, shape.get(1), shape.get(2) / numHeads);
        }
    }

    /**
     * Undoes {@link #transposeQkv}: (B * H, S, D) becomes (B, S, H * D).
     *
     * @param X the array
     * @param numHeads the number of heads H
     * @return a new array
     * @throws IllegalArgumentException if the array does not have three axes, or the first is no multiple of H
     */
    public static NDArray transposeOutput(NDArray X, int numHeads) {
        Shape shape = threeAxes(X);
        checkMultiple("axis 0", shape.get(0), numHeads);
        try (NDArray split = X.reshape(shape.get(0) / numHeads, numHeads, shape.get(1), shape.get(2))) {
            return exchanged(split, shape.get(0) / numHeads, shape.get(1), numHeads * shape.get(2));
        }
    }

    /**
     * Softmax over the last axis of the first n elements, where n is the valid length; the other elements become 0. If
     * n is 0, all elements become 0 (d2l's function gives all of them the same weight).
     *
     * @param X scores (B, Q, K) or (B, H, Q, K) of FLOAT32, FLOAT16 or BFLOAT16
     * @param validLens (B) or (B, Q) of FLOAT32, INT32 or INT64, whole numbers from 0 to K; null: K
     * @return a new array of the scores' shape and type
     * @throws IllegalArgumentException if shapes or types do not fit, or a length is not from 0 to K
     */
    public static NDArray maskedSoftmax(NDArray X, NDArray validLens) {
        Objects.requireNonNull(X, "X");
        if (validLens == null) {
            return X.softmax(-1);
        }
        NativeTensor scores = NDArray.tensorOf(X, "X");
        NativeTensor lengths = NDArray.tensorOf(validLens, "validLens");
        Tape.refuse("validLens of maskedSoftmax", validLens);
        Tape tape = Tape.following(X.data());
        NativeTensor result = NativeTensor.create(
                X.getManager().openContext(), X.getDataType().code, X.getShape().dims());
        try {
            HeedNative.heed_masked_softmax(scores, lengths, result);
        } catch (Throwable error) {
            result.close();
            throw error;
        }
        NDArray made = X.getManager().adopt(result);
        return tape == null ? made : ReductionGradients.maskedSoftmax(tape, X.data(), made);
    }

    /** Exchanges the two middle axes and reshapes the result. */
    private static NDArray exchanged(NDArray split, long... newShape) {
        try (NDArray exchanged = split.transpose(0, 2, 1, 3)) {
            return exchanged.reshape(newShape);
        }
    }

    private static Shape threeAxes(NDArray X) {
        Shape shape = Objects.requireNonNull(X, "X").getShape();
        if (shape.dimension() != 3) {
            throw new IllegalArgumentException("X has shape " + shape + ", expected three axes");
        }
        return shape;
    }

    private static void checkMultiple(String axis, long size, int numHeads) {
        if (numHeads < 1 || size % numHeads != 0) {
            throw new IllegalArgumentException(
                    axis + " of X is " + size + ", expected a multiple of numHeads, which is " + numHeads);
        }
    }
}
