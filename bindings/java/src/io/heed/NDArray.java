// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * An array of elements of one type, which lives outside Java's heap and belongs to a manager. Elements are copied in
 * when it is made, and out by the {@code to...Array} methods, in row-major order.
 *
 * <p>May be read from many threads. Every method but {@code close}, {@code getManager} and {@code toString} throws
 * IllegalStateException once the array or its manager is closed.
 */
public final class NDArray implements AutoCloseable {
    private static final long MAX_JAVA_ARRAY = Integer.MAX_VALUE - 8;

    private final NDManager manager;
    private final NativeTensor tensor;
    private final DataType dataType;
    private final Shape shape;

    NDArray(NDManager manager, NativeTensor tensor) {
        this.manager = manager;
        this.tensor = tensor;
        dataType = DataType.of(tensor.dtype());
        long[] dims = new long[tensor.rank()];
        for (int axis = 0; axis < dims.length; axis++) {
            dims[axis] = tensor.dim(axis);
        }
        shape = new Shape(dims);
    }

    /**
     * Returns the sizes of the axes.
     *
     * @return the shape
     */
    public Shape getShape() {
        tensor.checkOpen();
        return shape;
    }

    /**
     * Returns the type of the elements.
     *
     * @return the type
     */
    public DataType getDataType() {
        tensor.checkOpen();
        return dataType;
    }

    /**
     * Returns the manager that the array belongs to.
     *
     * @return the manager, which may be closed
     */
    public NDManager getManager() {
        return manager;
    }

    /**
     * Returns the number of elements.
     *
     * @return the product of the sizes of the axes
     */
    public long size() {
        tensor.checkOpen();
        return shape.size();
    }

    /**
     * Copies the elements out of a FLOAT32, FLOAT16 or BFLOAT16 array; those of 16 bits are widened, which is exact.
     *
     * @return the elements in row-major order
     * @throws IllegalStateException if the array is of another type
     */
    public float[] toFloatArray() {
        tensor.checkOpen();
        if (dataType == DataType.FLOAT32) {
            float[] elements = new float[javaSize()];
            tensor.read(elements);
            return elements;
        }
        if (dataType != DataType.FLOAT16 && dataType != DataType.BFLOAT16) {
            throw wrongType("toFloatArray", "FLOAT32, FLOAT16 or BFLOAT16");
        }
        float[] elements = new float[javaSize()];
        try (NativeTensor floats = NativeTensor.create(Library.context(), DataType.FLOAT32.code, shape.dims())) {
            floats.copy(tensor);
            floats.read(elements);
        }
        return elements;
    }

    /**
     * Copies the elements out of a FLOAT64 array.
     *
     * @return the elements in row-major order
     * @throws IllegalStateException if the array is of another type
     */
    public double[] toDoubleArray() {
        require(DataType.FLOAT64, "toDoubleArray");
        double[] elements = new double[javaSize()];
        tensor.read(elements);
        return elements;
    }

    /**
     * Copies the elements out of an INT32 array.
     *
     * @return the elements in row-major order
     * @throws IllegalStateException if the array is of another type
     */
    public int[] toIntArray() {
        require(DataType.INT32, "toIntArray");
        int[] elements = new int[javaSize()];
        tensor.read(elements);
        return elements;
    }

    /**
     * Copies the elements out of an INT64 array.
     *
     * @return the elements in row-major order
     * @throws IllegalStateException if the array is of another type
     */
    public long[] toLongArray() {
        require(DataType.INT64, "toLongArray");
        long[] elements = new long[javaSize()];
        tensor.read(elements);
        return elements;
    }

    /** Frees the array; if a call on another thread uses it, after that call. Closing twice does nothing. */
    @Override
    public void close() {
        tensor.close();
    }

    @Override
    public String toString() {
        return "NDArray " + shape + " " + dataType + (tensor.isOpen() ? "" : " (closed)");
    }

    NativeTensor tensor() {
        return tensor;
    }

    private void require(DataType type, String method) {
        tensor.checkOpen();
        if (dataType != type) {
            throw wrongType(method, type.name());
        }
    }

    private IllegalStateException wrongType(String method, String wanted) {
        return new IllegalStateException(
                method + " needs an array of " + wanted + ", this one is of " + dataType.name());
    }

    private int javaSize() {
        long size = shape.size();
        if (size > MAX_JAVA_ARRAY) {
            throw new IllegalStateException("the array has " + size + " elements, more than a Java array can hold");
        }
        return (int) size;
    }
}
