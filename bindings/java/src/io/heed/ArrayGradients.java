// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;

/** What the gradients of operations on arrays have in common. */
final class ArrayGradients {
    private ArrayGradients() {}

    /** The gradient of an array from that of what it was repeated to: the sum over the axes along which it was repeated. */
    static NDArray toShape(NDArray gradient, Shape shape) {
        Shape whole = gradient.getShape();
        if (whole.equals(shape)) {
            return gradient;
        }
        int missing = whole.dimension() - shape.dimension();
        int[] axes = new int[whole.dimension()];
        int count = 0;
        for (int axis = 0; axis < axes.length; axis++) {
            if (axis < missing || shape.get(axis - missing) == 1 && whole.get(axis) != 1) {
                axes[count++] = axis;
            }
        }
        return gradient.sum(Arrays.copyOf(axes, count), true).reshape(shape);
    }
}
