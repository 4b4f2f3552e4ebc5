// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The gradient of an array of the program, which belongs to the array's manager. */
final class ArrayLeaf implements GradientLeaf {
    private final ArrayData array;
    private final NDArray gradient;

    /** Begins with zeros. */
    ArrayLeaf(ArrayData array) {
        if (array.dataType != DataType.FLOAT32 && array.dataType != DataType.FLOAT64) {
            throw new IllegalArgumentException("the array is of " + array.dataType.name()
                    + ", expected FLOAT32 or FLOAT64 for an array with a gradient");
        }
        this.array = array;
        gradient = array.manager().outOfScope(array.made(array.dataType, array.shape));
    }

    @Override
    public boolean isWanted() {
        return array.leaf() == this;
    }

    @Override
    public void check() {
        // Nobody can ask a closed array for its gradient.
        if (array.isOpen() && gradient.isReleased()) {
            throw new IllegalStateException("the gradient of an array was closed: expected it open until backward");
        }
    }

    @Override
    public synchronized void add(NDArray addend) {
        if (array.isOpen() && isWanted()) {
            gradient.add(addend, gradient);
        }
    }

    @Override
    public NDArray gradient() {
        return gradient;
    }

    @Override
    public synchronized void zero() {
        if (!gradient.isReleased()) {
            gradient.tensor().fill(0);
            gradient.data().countWrite();
        }
    }
}
