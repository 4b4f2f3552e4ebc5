// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;

/**
 * The gradient of a parameter of {@link AbstractBlock}, for the array that it has. It is a native set of one gradient, which
 * optimizers take, or for FLOAT64 an array.
 */
final class OwnParameterLeaf implements GradientLeaf {
    private final Parameter parameter;
    private final ByteBuffer name;
    private final NDArray values;
    /** Null before it is asked for. */
    private NativeGradients set;

    private NDArray gradient;

    OwnParameterLeaf(Parameter parameter, NDArray values) {
        this.parameter = parameter;
        this.values = values;
        name = NativeText.of(parameter.getName(), "name");
    }

    /** What optimizers take. Throws if they cannot change the array. */
    synchronized NativeGradients set() {
        if (set == null || !set.isOpen()) {
            NativeTensor tensor = values.tensor();
            NativeGradients made = NativeGradients.createOfTensor(tensor, name);
            try {
                // Also the memory of a buffer that was wrapped.
                made.share(tensor);
                values.getManager().own(made);
            } catch (Throwable error) {
                made.close();
                throw error;
            }
            set = made;
        }
        return set;
    }

    @Override
    public boolean isWanted() {
        // Also of 16 bits, whose gradient is refused by name.
        return parameter.requiresGradient() && values.data().leaf() == this && values.data().dataType.isFloating();
    }

    @Override
    public void check() {
        if (!parameter.requiresGradient()) {
            throw ParameterLeaf.frozen(parameter);
        }
        gradient();
    }

    @Override
    public synchronized void add(NDArray addend) {
        NDArray sum = gradient();
        sum.add(addend, sum);
    }

    @Override
    public synchronized NDArray gradient() {
        if (gradient == null || gradient.isReleased()) {
            NDManager owner = values.getManager();
            if (values.data().dataType != DataType.FLOAT64) {
                NativeTensor view = set().tensor(name);
                view.leaveToCollector();
                owner.own(view);
                gradient = new NDArray(owner, view);
            } else {
                gradient = values.getManager().outOfScope(values.data().made(values.data().dataType, values.data().shape));
            }
        }
        return gradient;
    }

    @Override
    public synchronized void zero() {
        if (gradient != null && !gradient.isReleased()) {
            gradient.tensor().fill(0);
            gradient.data().countWrite();
        } else if (set != null && set.isOpen()) {
            set.zero();
        }
    }

    /** Counts that a call has written the gradient. */
    synchronized void countWrite() {
        if (gradient != null) {
            gradient.data().countWrite();
        }
    }

    /** Forgets the gradient. */
    synchronized void drop() {
        if (gradient != null) {
            gradient.close();
            gradient = null;
        }
        if (set != null) {
            set.close();
            set = null;
        }
    }
}
