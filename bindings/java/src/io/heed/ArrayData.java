// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** The native tensor of an {@link NDArray} with its owner, and access to its elements. */
final class ArrayData {
    static final long MAX_JAVA_ARRAY = Integer.MAX_VALUE - 8;
    private static final Shape SCALAR = new Shape();

    final DataType dataType;
    final Shape shape;
    /** Writes to an array that is a parameter of a block; null for all other arrays. */
    private final NDArray.Writer writer;
    /** Replaced after each write through the writer. */
    private volatile NativeTensor tensor;
    private volatile NDManager manager;
    /** Set by {@link #close}. A tensor that is taken from the block after that is closed, too. */
    private volatile boolean closed;
    /** The operation of a gradient collector that has computed the array; null: none has. */
    private volatile TapeNode node;
    /** Where gradients of the array are added up; null: nowhere. */
    private volatile GradientLeaf leaf;
    /** How often elements were written, with views of the array in common; null until somebody wants to know. */
    private volatile AtomicInteger version;

    ArrayData(NDManager manager, NativeTensor tensor, NDArray.Writer writer) {
        this(manager, tensor, writer, DataType.of(tensor.dtype()), new Shape(dimsOf(tensor)));
    }

    /** With the type and the shape of the tensor, which native calls would tell too. */
    ArrayData(NDManager manager, NativeTensor tensor, NDArray.Writer writer, DataType dataType, Shape shape) {
        this.manager = manager;
        this.tensor = tensor;
        this.writer = writer;
        this.dataType = dataType;
        this.shape = shape;
    }

    NativeTensor tensor() {
        return tensor;
    }

    /** Another tensor of the same manager, of which only elements are read. */
    ArrayData withTensor(NativeTensor other) {
        return new ArrayData(manager, other, null);
    }

    /** A tensor of one element of the array, which is only read. */
    ArrayData withElement(NativeTensor element) {
        return new ArrayData(manager, element, null, dataType, SCALAR);
    }

    NDManager manager() {
        return manager;
    }

    void checkOpen() {
        tensor.checkOpen();
    }

    boolean isOpen() {
        return tensor.isOpen();
    }

    /** The shape and the type, and whether the array is closed. */
    String description() {
        return shape + " " + dataType + (isOpen() ? "" : " (closed)");
    }

    boolean isOnCpu() {
        return manager.getDevice().isCpu();
    }

    void attach(NDManager owner) {
        owner.attach(tensor);
        manager = owner;
        if (leaf instanceof ArrayLeaf) {
            leaf.gradient().attach(owner);
        }
    }

    void close() {
        closed = true;
        tensor.close();
        if (leaf instanceof ArrayLeaf) {
            leaf.gradient().close();
        }
    }

    // ---- Gradients --------------------------------------------------------------------------------------------------

    TapeNode node() {
        return node;
    }

    void setNode(TapeNode node) {
        this.node = node;
    }

    GradientLeaf leaf() {
        return leaf;
    }

    void setLeaf(GradientLeaf leaf) {
        this.leaf = leaf;
    }

    synchronized void setRequiresGradient(boolean wanted) {
        boolean has = leaf != null && leaf.isWanted();
        if (writer != null || leaf != null && !(leaf instanceof ArrayLeaf)) {
            if (has != wanted) {
                throw new IllegalStateException(
                        "the array is that of a parameter, whose freeze(" + has + ") says whether it has a gradient");
            }
            return;
        }
        if (node != null && node.tape.isOpen()) {
            throw new IllegalStateException("the array is computed under a gradient collector: expected one that is not, "
                    + "such as stopGradient() of it");
        }
        if (wanted && !has) {
            leaf = new ArrayLeaf(this);
        } else if (!wanted && has) {
            leaf.gradient().close();
            leaf = null;
        }
    }

    /** A view that no gradient collector follows. */
    NDArray stopped() {
        NativeTensor own = tensor;
        return adoptView(StridedView.whole(own, shape).of(own));
    }

    /** How often the elements were written since somebody has asked for the first time. */
    AtomicInteger version() {
        if (version == null) {
            synchronized (this) {
                version = version == null ? new AtomicInteger() : version;
            }
        }
        return version;
    }

    /** Counts writes together with other arrays of the same memory. */
    void shareVersion(AtomicInteger shared) {
        version = shared;
    }

    /** Another array of the same memory, or, if that has strides that are not positive, a copy. */
    NDArray withPositiveStrides() {
        for (int axis = 0; axis < shape.dimension(); axis++) {
            if (tensor.stride(axis) <= 0) {
                return adopt(converted(dataType));
            }
        }
        return viewIn(manager);
    }

    /** Called whenever elements were written. */
    void countWrite() {
        AtomicInteger counted = version;
        if (counted != null) {
            counted.incrementAndGet();
        }
    }

    /** Another array of the same memory, that a manager owns. */
    NDArray viewIn(NDManager owner) {
        NativeTensor own = tensor;
        NativeTensor view = StridedView.whole(own, shape).of(own);
        owner.own(view);
        NDArray made = new NDArray(new ArrayData(owner, view, null, dataType, shape));
        made.data().version = version();
        return made;
    }

    // ---- New native arrays, of the same manager's device ------------------------------------------------------------

    /** Makes an array of a new tensor, for this array's manager. */
    NDArray adopt(NativeTensor made) {
        return manager.adopt(made);
    }

    /** Makes an array of a view of this one's tensor. */
    NDArray adoptView(NativeTensor view) {
        NDArray made = manager.adopt(view);
        made.data().version = version();
        return made;
    }

    /** Makes a new array of zeros, for this array's manager or its open scope. */
    NDArray made(DataType type, Shape dims) {
        NDManager owner = manager.current();
        NativeTensor made = NativeTensor.create(owner.openContext(), type.code, dims.dims());
        owner.own(made);
        return new NDArray(new ArrayData(owner, made, null, type, dims));
    }

    NativeTensor create(DataType type, long... dims) {
        return NativeTensor.create(manager.openContext(), type.code, dims);
    }

    /** Makes a new array of the same type, and computes its elements. */
    NDArray computed(long[] dims, Consumer<NativeTensor> computation) {
        return adopt(filled(create(dataType, dims), computation));
    }

    NativeTensor converted(DataType type) {
        return converted(manager.openContext(), type);
    }

    NativeTensor converted(NativeContext where, DataType type) {
        return filled(NativeTensor.create(where, type.code, shape.dims()), copy -> copy.copy(tensor));
    }

    /** An array that is a view if the strides allow one, otherwise a copy. */
    NDArray reshapedArray(long... dims) {
        try {
            return adoptView(MessageSink.withoutMessages(() -> tensor.reshape(dims)));
        } catch (UnsupportedOperationException strides) {
            return adopt(reshaped(dims));
        }
    }

    /** Returns a view if the strides allow one, otherwise a copy. */
    NativeTensor reshaped(long... dims) {
        try {
            return MessageSink.withoutMessages(() -> tensor.reshape(dims));
        } catch (UnsupportedOperationException strides) {
            try (NativeTensor rowMajor = converted(dataType)) {
                return rowMajor.reshape(dims);
            }
        }
    }

    boolean isRowMajor() {
        long expected = 1;
        for (int axis = shape.dimension() - 1; axis >= 0; axis--) {
            if (shape.get(axis) != 1 && tensor.stride(axis) != expected) {
                return false;
            }
            expected *= shape.get(axis);
        }
        return true;
    }

    // ---- Elements in and out ----------------------------------------------------------------------------------------

    /** Passes the elements to `reader` as a tensor of that type on the CPU, from which Java arrays can be filled. */
    void read(DataType type, Consumer<NativeTensor> reader) {
        if (type == dataType && isOnCpu()) {
            reader.accept(tensor);
            return;
        }
        try (NativeTensor copy = converted(manager.hostContext(), type)) {
            reader.accept(copy);
        }
    }

    /**
     * Replaces the elements by those that `filler` writes. If inPlace allows it, it writes to the array's own tensor;
     * otherwise to a row-major tensor of that type on the CPU, which is then converted.
     */
    void write(boolean inPlace, DataType type, Consumer<NativeTensor> filler) {
        if (writer == null && inPlace) {
            countWrite();
            filler.accept(tensor);
            return;
        }
        NativeTensor made = NativeTensor.create(manager.hostContext(), type.code, shape.dims());
        try (NativeTensor values = filled(made, filler)) {
            if (writer == null) {
                countWrite();
                tensor.copy(values);
            } else {
                replace(values);
            }
        }
    }

    /** Whether native calls may write to the array's own tensor: not to that of a parameter. */
    boolean isWrittenInPlace() {
        return writer == null;
    }

    /** Replaces the elements of an array that is a parameter by those of a tensor of the same shape and type. */
    void replace(NativeTensor values) {
        writer.write(values);
        countWrite();
        readAnew();
    }

    /** Copies the elements into another array, converted to its type. */
    void copyTo(ArrayData target) {
        target.write(true, target.dataType, values -> values.copy(tensor()));
    }

    /** The number of elements. Throws if a Java array cannot hold as many. */
    int javaSize() {
        long size = shape.size();
        if (size > MAX_JAVA_ARRAY) {
            throw new IllegalStateException("the array has " + size + " elements, more than a Java array can hold");
        }
        return (int) size;
    }

    // ---- Inside -----------------------------------------------------------------------------------------------------

    private void readAnew() {
        NativeTensor before = tensor;
        NativeTensor now = writer.current();
        manager.own(now);
        tensor = now;
        before.close();
        if (closed) {
            now.close();
        }
    }

    private static NativeTensor filled(NativeTensor made, Consumer<NativeTensor> filler) {
        try {
            filler.accept(made);
        } catch (Throwable error) {
            made.close();
            throw error;
        }
        return made;
    }

    static long[] dimsOf(NativeTensor tensor) {
        long[] dims = new long[tensor.rank()];
        for (int axis = 0; axis < dims.length; axis++) {
            dims[axis] = tensor.dim(axis);
        }
        return dims;
    }
}
