// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Gradients of matrix products, of matrices in batches and of vectors: g b^T and a^T g. */
final class ProductGradients {
    private ProductGradients() {}

    static NDArray record(Tape tape, ArrayData left, ArrayData right, NDArray y) {
        // A vector is a matrix of one row at the left, and of one column at the right.
        Shape leftMatrix = left.shape.dimension() == 1 ? new Shape(1).addAll(left.shape) : left.shape;
        Shape rightMatrix = right.shape.dimension() == 1 ? right.shape.add(1) : right.shape;
        Shape product = matrixOf(y.data().shape, left.shape, right.shape);
        return tape.record("matMul", y, new ArrayData[] {left, right}, node -> {
            NDArray a = node.holdFor(1, "array", left);
            NDArray b = node.holdFor(0, "other", right);
            return (g, input) -> {
                NDArray whole = g.reshape(product);
                NDArray part = input == 0
                        ? whole.matMul(turned(b.reshape(rightMatrix)))
                        : turned(a.reshape(leftMatrix)).matMul(whole);
                NDArray matrix = ArrayGradients.toShape(part, input == 0 ? leftMatrix : rightMatrix);
                return matrix.reshape(input == 0 ? left.shape : right.shape);
            };
        });
    }

    private static NDArray turned(NDArray matrix) {
        return matrix.swapAxes(-2, -1);
    }

    /** The shape of a product with the axes of size 1 that vectors leave out. */
    private static Shape matrixOf(Shape product, Shape left, Shape right) {
        Shape whole = right.dimension() == 1 ? product.add(1) : product;
        int columns = whole.dimension() - 1;
        return left.dimension() == 1 ? whole.slice(0, columns).add(1).addAll(whole.slice(columns)) : whole;
    }
}
