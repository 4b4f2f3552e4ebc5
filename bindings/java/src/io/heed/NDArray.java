// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * An array of elements of one type, which lives outside Java's heap and belongs to a manager. Elements are written and
 * read in row-major order.
 *
 * <p>Methods that say "a view" give an array over the same elements: what is written to one is read from the other, and
 * the elements live as long as one of them. All others that give an array give a new one. Either belongs to this
 * array's manager. Negative axes count from the end; an axis that is not there is an IllegalArgumentException.
 *
 * <p>May be read from many threads; writing an array while another thread uses it is the caller's race. Every method
 * but {@code close}, {@code isReleased}, {@code getManager}, {@code getDevice}, {@code getName}, {@code setName} and
 * {@code toString} throws IllegalStateException once the array or its manager is closed.
 */
public final class NDArray implements AutoCloseable {
    private static final long MAX_JAVA_ARRAY = Integer.MAX_VALUE - 8;
    private static final long MAX_DEBUG_ELEMENTS = 1000;

    /** Where the elements of an array are that cannot be written in place: a block's parameter. */
    interface Writer {
        /** Replaces all elements by those of a tensor of the array's shape. */
        void write(NativeTensor value);

        /** The elements as they are now, a tensor of the array's shape and type that the array then owns. */
        NativeTensor current();
    }

    private final DataType dataType;
    private final Shape shape;
    /** Null for an array that is written in place. */
    private final Writer writer;
    /** Another one after each write through the writer. */
    private volatile NativeTensor tensor;
    private volatile NDManager manager;
    /** By {@link #close}: what is read anew after it is closed as well. */
    private volatile boolean closed;
    private volatile String name;

    NDArray(NDManager manager, NativeTensor tensor) {
        this(manager, tensor, null);
    }

    NDArray(NDManager manager, NativeTensor tensor, Writer writer) {
        this.manager = manager;
        this.tensor = tensor;
        this.writer = writer;
        dataType = DataType.of(tensor.dtype());
        shape = new Shape(dimsOf(tensor));
    }

    // ---- What it is -------------------------------------------------------------------------------------------------

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
     * Returns the device that the elements are on.
     *
     * @return the manager's device
     */
    public Device getDevice() {
        return manager.getDevice();
    }

    /**
     * Returns the manager that the array belongs to, and to which the arrays go that are made from it.
     *
     * @return the manager, which may be closed; after {@link #detach} one that owns nothing and cannot be closed
     */
    public NDManager getManager() {
        return manager;
    }

    /**
     * Returns the array's name.
     *
     * @return what {@link #setName} set, null if nothing
     */
    public String getName() {
        return name;
    }

    /**
     * Gives the array a name, by which {@link NDList#get(String)} finds it.
     *
     * @param name the name, or null
     */
    public void setName(String name) {
        this.name = name;
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
     * Returns the size of one axis.
     *
     * @param axis the axis
     * @return its size
     */
    public long size(int axis) {
        tensor.checkOpen();
        return shape.get(axisFromZero("axis", axis, shape.dimension()));
    }

    // ---- Ownership --------------------------------------------------------------------------------------------------

    /**
     * Gives the array to another manager, which closes it with itself.
     *
     * @param manager the new owner
     * @throws IllegalArgumentException if the manager is for another device
     * @throws IllegalStateException if the manager is closed; the array stays where it is then
     */
    public void attach(NDManager manager) {
        Objects.requireNonNull(manager, "manager");
        tensor.checkOpen();
        if (!manager.getDevice().equals(getDevice())) {
            throw new IllegalArgumentException(
                    "manager is for " + manager.getDevice() + ", the array is on " + getDevice());
        }
        manager.attach(tensor);
        this.manager = manager;
    }

    /** Takes the array from its manager: it stays open when that is closed, and the caller closes it. */
    public void detach() {
        attach(manager.unmanaged());
    }

    /**
     * Tells whether the array is closed.
     *
     * @return true once the array or its manager is closed
     */
    public boolean isReleased() {
        return !tensor.isOpen();
    }

    /** Frees the array; if a call on another thread uses it, after that call. Closing twice does nothing. */
    @Override
    public void close() {
        closed = true;
        tensor.close();
    }

    // ---- Elements to Java -------------------------------------------------------------------------------------------

    /**
     * Copies the elements out of a FLOAT32, FLOAT16 or BFLOAT16 array; those of 16 bits are widened, which is exact.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public float[] toFloatArray() {
        requireFloats("toFloatArray");
        float[] elements = new float[javaSize()];
        read(DataType.FLOAT32, source -> source.read(elements));
        return elements;
    }

    /**
     * Copies the elements out of a FLOAT64 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public double[] toDoubleArray() {
        require("toDoubleArray", DataType.FLOAT64);
        double[] elements = new double[javaSize()];
        read(dataType, source -> source.read(elements));
        return elements;
    }

    /**
     * Copies the elements out of an INT32 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public int[] toIntArray() {
        require("toIntArray", DataType.INT32);
        int[] elements = new int[javaSize()];
        read(dataType, source -> source.read(elements));
        return elements;
    }

    /**
     * Copies the elements out of an INT64 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public long[] toLongArray() {
        require("toLongArray", DataType.INT64);
        long[] elements = new long[javaSize()];
        read(dataType, source -> source.read(elements));
        return elements;
    }

    /**
     * Copies the elements out of an INT8 or UINT8 array.
     *
     * @return the elements; those of UINT8 above 127 come as negative bytes
     * @throws IllegalStateException if the array is of another type
     */
    public byte[] toByteArray() {
        tensor.checkOpen();
        if (dataType != DataType.INT8 && dataType != DataType.UINT8) {
            throw wrongType("toByteArray", "INT8 or UINT8");
        }
        byte[] elements = new byte[javaSize()];
        read(dataType, source -> source.read(elements));
        return elements;
    }

    /**
     * Copies the elements out of a BOOLEAN array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public boolean[] toBooleanArray() {
        require("toBooleanArray", DataType.BOOLEAN);
        byte[] bytes = new byte[javaSize()];
        read(dataType, source -> source.read(bytes));
        boolean[] elements = new boolean[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            elements[i] = bytes[i] != 0;
        }
        return elements;
    }

    /**
     * Copies the bytes of the elements, of any type.
     *
     * @return a new direct buffer in native order, at position 0
     * @throws IllegalStateException if they are more than 2147483647 bytes
     */
    public ByteBuffer toByteBuffer() {
        NativeTensor source = tensor;
        ByteBuffer bytes = Buffers.direct(bufferSize(source));
        source.read(bytes, bytes.capacity());
        return bytes;
    }

    /**
     * Gives a view of a FLOAT32 array's memory, without a copy. It may be read and written, and keeps the memory alive:
     * it stays valid when the array, its manager or a buffer that was wrapped is closed or forgotten.
     *
     * @return a direct buffer of all elements, at position 0
     * @throws IllegalStateException if the array is of another type, its elements do not lie one after the other in
     *     row-major order, it is read-only (a block's parameter), it is on another device than the CPU, or it has more
     *     than 2147483647 bytes: {@link #duplicate} or {@link #toFloatArray} copy
     */
    public FloatBuffer toFloatBuffer() {
        require("toFloatBuffer", DataType.FLOAT32);
        if (!isOnCpu()) {
            throw new IllegalStateException(
                    "toFloatBuffer needs an array on the CPU, this one is on " + getDevice() + "; toFloatArray copies");
        }
        int numBytes = bufferSize(tensor);
        if (numBytes == 0) {
            return Buffers.direct(0).asFloatBuffer();
        }
        if (!isRowMajor()) {
            throw new IllegalStateException("toFloatBuffer needs the elements one after the other, those of this array "
                    + "are not; duplicate() copies them");
        }
        NativeTensor view = tensor.reshape(shape.dims());
        ByteBuffer memory = null;
        try {
            memory = view.data();
            if (memory == null) {
                throw new IllegalStateException("toFloatBuffer needs an array that may be written in place, this one "
                        + "is a parameter; duplicate() copies");
            }
            // Java's views of a buffer keep it alive, so that the native view is closed after the last of them.
            NativeHandle.CLEANER.register(memory, view::close);
        } catch (Throwable error) {
            view.close();
            throw error;
        }
        return memory.order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    /**
     * Returns one element of a FLOAT32, FLOAT16 or BFLOAT16 array.
     *
     * @param indices as many as the array has axes; negative ones count from the end
     * @return the element
     * @throws IllegalArgumentException if there is no such element
     * @throws IllegalStateException if the array is of another type
     */
    public float getFloat(long... indices) {
        Objects.requireNonNull(indices, "indices");
        requireFloats("getFloat");
        try (NDArray element = element(indices)) {
            return element.toFloatArray()[0];
        }
    }

    /**
     * Returns one element of an INT64 array.
     *
     * @param indices as many as the array has axes; negative ones count from the end
     * @return the element
     * @throws IllegalArgumentException if there is no such element
     * @throws IllegalStateException if the array is of another type
     */
    public long getLong(long... indices) {
        Objects.requireNonNull(indices, "indices");
        require("getLong", DataType.INT64);
        try (NDArray element = element(indices)) {
            return element.toLongArray()[0];
        }
    }

    // ---- Elements from Java -----------------------------------------------------------------------------------------

    /**
     * Replaces all elements. Those of FLOAT16 and BFLOAT16 arrays are rounded. A block's parameter may be set too: the
     * block computes with the new elements from then on.
     *
     * @param data as many elements
     * @throws IllegalArgumentException if they are more or less
     * @throws IllegalStateException if the array is not of FLOAT32, FLOAT16 or BFLOAT16
     */
    public void set(float[] data) {
        Objects.requireNonNull(data, "data");
        requireFloats("set(float[])");
        Buffers.checkCount(data.length, "", shape);
        write(isOnCpu() && dataType == DataType.FLOAT32, DataType.FLOAT32, target -> target.write(data));
    }

    /**
     * Replaces all elements.
     *
     * @param data as many elements
     * @throws IllegalArgumentException if they are more or less
     * @throws IllegalStateException if the array is not of INT32
     */
    public void set(int[] data) {
        Objects.requireNonNull(data, "data");
        require("set(int[])", DataType.INT32);
        Buffers.checkCount(data.length, "", shape);
        write(isOnCpu(), dataType, target -> target.write(data));
    }

    /**
     * Replaces all elements.
     *
     * @param data as many elements
     * @throws IllegalArgumentException if they are more or less
     * @throws IllegalStateException if the array is not of INT64
     */
    public void set(long[] data) {
        Objects.requireNonNull(data, "data");
        require("set(long[])", DataType.INT64);
        Buffers.checkCount(data.length, "", shape);
        write(isOnCpu(), dataType, target -> target.write(data));
    }

    /**
     * Replaces all elements by those between a buffer's position and limit, in its byte order. The position stays.
     *
     * @param data a buffer of the array's type, or a ByteBuffer, which holds elements of any type
     * @throws IllegalArgumentException if it is of another type, or has more or less elements
     */
    public void set(Buffer data) {
        Objects.requireNonNull(data, "data");
        tensor.checkOpen();
        Buffer elements = Buffers.checked(data, dataType, shape);
        write(isRowMajor(), dataType, target -> Buffers.write(target, elements, dataType));
    }

    /**
     * Copies the elements into another array, converted to its type and repeated along axes that are missing or 1 here.
     * Floats become integers by truncation, what is out of range becomes the nearest in range, NaN 0.
     *
     * @param array the array that is written, which shares no memory with this one; it may be on another device
     * @throws IllegalArgumentException if the shapes do not fit, or the arrays overlap
     */
    public void copyTo(NDArray array) {
        Objects.requireNonNull(array, "array");
        array.write(true, array.dataType, target -> target.copy(tensor));
    }

    // ---- New arrays -------------------------------------------------------------------------------------------------

    /**
     * Copies the array.
     *
     * @return a new array of the same type and shape, row-major
     */
    public NDArray duplicate() {
        return manager.adopt(converted(dataType));
    }

    /**
     * Converts the elements, as {@link #copyTo} does.
     *
     * @param dataType the wanted type
     * @param copy whether to copy the array even if it is of that type
     * @return a new array of that type, or this one
     */
    public NDArray toType(DataType dataType, boolean copy) {
        Objects.requireNonNull(dataType, "dataType");
        tensor.checkOpen();
        return dataType == this.dataType && !copy ? this : manager.adopt(converted(dataType));
    }

    /**
     * Copies the array to a device, in its type.
     *
     * @param device the device
     * @param copy whether to copy the array even if it is on that device
     * @return a new row-major array on that device, or this one. A new one on another device belongs to a manager for
     *     that device, of the same options, which this array's manager closes with itself
     * @throws HeedException with {@link Status#DEVICE_UNAVAILABLE} and what to do if the device cannot be used
     */
    public NDArray toDevice(Device device, boolean copy) {
        Objects.requireNonNull(device, "device");
        tensor.checkOpen();
        if (device.equals(getDevice())) {
            return copy ? duplicate() : this;
        }
        NDManager there = manager.on(device);
        return there.adopt(converted(there.openContext(), dataType));
    }

    /**
     * Gives the part of the array at leading indices.
     *
     * @param indices at most as many as the array has axes; negative ones count from the end
     * @return a view of the remaining axes; a scalar if there are none left
     * @throws IllegalArgumentException if there is no such part
     */
    public NDArray get(long... indices) {
        Objects.requireNonNull(indices, "indices");
        if (indices.length > shape.dimension()) {
            throw new IllegalArgumentException(
                    indices.length + " indices were given, the array has the shape " + shape);
        }
        NativeTensor part = tensor.reshape(shape.dims());
        for (int axis = 0; axis < indices.length; axis++) {
            try (NativeTensor whole = part) {
                part = whole.slice(axis, indices[axis], 1);
            }
        }
        try (NativeTensor whole = part) {
            return manager.adopt(whole.reshape(shape.slice(indices.length).dims()));
        }
    }

    /**
     * Gives the part of the array between two places of an axis.
     *
     * @param axis the axis
     * @param start the first place; a negative one counts from the end
     * @param length how many places
     * @return a view with as many axes
     * @throws IllegalArgumentException if there is no such part
     */
    public NDArray slice(int axis, long start, long length) {
        return manager.adopt(tensor.slice(axis, start, length));
    }

    /**
     * Gives the elements in another shape.
     *
     * @param newShape the sizes of the axes; one of them may be -1, which is worked out
     * @return a view where there is one, a copy where the elements of a transposed array, for example, lie otherwise
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray reshape(long... newShape) {
        Objects.requireNonNull(newShape, "newShape");
        return manager.adopt(reshaped(newShape));
    }

    /**
     * Gives the elements in another shape.
     *
     * @param newShape the shape; one of its sizes may be -1, which is worked out
     * @return a view where there is one, a copy where the elements of a transposed array, for example, lie otherwise
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray reshape(Shape newShape) {
        return reshape(Objects.requireNonNull(newShape, "newShape").dims());
    }

    /**
     * Gives the elements in one axis.
     *
     * @return a view where there is one, a copy where the elements of a transposed array, for example, lie otherwise
     */
    public NDArray flatten() {
        return reshape(size());
    }

    /**
     * Reverses the order of the axes.
     *
     * @return a view
     */
    public NDArray transpose() {
        return manager.adopt(tensor.transpose(null));
    }

    /**
     * Puts the axes in another order.
     *
     * @param axes which axis of this array comes first, second and so on: each axis once
     * @return a view
     * @throws IllegalArgumentException if an axis is missing or named twice
     */
    public NDArray transpose(int... axes) {
        Objects.requireNonNull(axes, "axes");
        if (axes.length != shape.dimension()) {
            throw new IllegalArgumentException(
                    "axes is " + Arrays.toString(axes) + ", expected each axis of the shape " + shape + " once");
        }
        return manager.adopt(tensor.transpose(axes));
    }

    /**
     * Exchanges two axes.
     *
     * @param axis1 one
     * @param axis2 the other
     * @return a view
     */
    public NDArray swapAxes(int axis1, int axis2) {
        int rank = shape.dimension();
        int first = axisFromZero("axis1", axis1, rank);
        int second = axisFromZero("axis2", axis2, rank);
        int[] axes = new int[rank];
        Arrays.setAll(axes, axis -> axis == first ? second : axis == second ? first : axis);
        return transpose(axes);
    }

    /**
     * Adds an axis of size 1.
     *
     * @param axis where it is in the result; negative ones count from the result's end
     * @return a view
     */
    public NDArray expandDims(int axis) {
        int rank = shape.dimension();
        int added = axisFromZero("axis", axis, rank + 1);
        return reshape(shape.slice(0, added).add(1).addAll(shape.slice(added)));
    }

    /**
     * Takes all axes of size 1 away.
     *
     * @return a view
     */
    public NDArray squeeze() {
        return reshape(Arrays.stream(shape.dims()).filter(dim -> dim != 1).toArray());
    }

    /**
     * Takes axes of size 1 away.
     *
     * @param axes which
     * @return a view
     * @throws IllegalArgumentException if one has another size
     */
    public NDArray squeeze(int... axes) {
        Objects.requireNonNull(axes, "axes");
        boolean[] taken = new boolean[shape.dimension()];
        for (int axis : axes) {
            int index = axisFromZero("axis", axis, taken.length);
            if (shape.get(index) != 1) {
                throw new IllegalArgumentException("axis " + axis + " of the shape " + shape + " has the size "
                        + shape.get(index) + ", expected 1");
            }
            taken[index] = true;
        }
        Shape left = new Shape();
        for (int axis = 0; axis < taken.length; axis++) {
            left = taken[axis] ? left : left.add(shape.get(axis));
        }
        return reshape(left);
    }

    /**
     * Repeats each part along an axis: (a, b) twice is (a, a, b, b).
     *
     * @param axis the axis
     * @param repeats how often
     * @return a new array
     * @throws IllegalArgumentException if repeats is negative
     */
    public NDArray repeat(int axis, long repeats) {
        int repeated = axisFromZero("axis", axis, shape.dimension());
        long length = shape.get(repeated);
        long before = shape.slice(0, repeated).size();
        long after = shape.slice(repeated + 1).size();
        try (NativeTensor parts = reshaped(before, length, 1, after);
                NativeTensor copies = create(dataType, before, length, repeats, after)) {
            copies.copy(parts);
            return manager.adopt(copies.reshape(
                    shape.slice(0, repeated).add(length * repeats).addAll(shape.slice(repeated + 1)).dims()));
        }
    }

    /**
     * Repeats the array along axes that are missing or 1.
     *
     * @param shape the shape of the result; axes are aligned at the end
     * @return a new array
     * @throws IllegalArgumentException if the shapes do not fit
     */
    public NDArray broadcast(Shape shape) {
        Objects.requireNonNull(shape, "shape");
        return computed(shape.dims(), result -> result.copy(tensor));
    }

    /**
     * Softmax along an axis, computed in FLOAT32. -inf is a 0, NaN or +inf make their row NaN, and a row that is all
     * -inf is NaN.
     *
     * @param axis the axis
     * @return a new array of the same type and shape
     * @throws IllegalArgumentException if the array is not of FLOAT32, FLOAT16 or BFLOAT16, or a scalar
     */
    public NDArray softmax(int axis) {
        return computed(shape.dims(), result -> result.setSoftmax(tensor, axis));
    }

    /**
     * The product of matrices, with the shapes of NumPy's matmul: (..., M, K) with (..., K, N) gives (..., M, N), where
     * the leading axes are repeated as in {@link #broadcast}; of a vector (K), M or N is missing.
     *
     * @param other the second factor, of the same type
     * @return a new array of that type
     * @throws IllegalArgumentException if the shapes do not fit, or the types are not one of FLOAT32, FLOAT16 and
     *     BFLOAT16
     */
    public NDArray matMul(NDArray other) {
        NativeTensor factor = Objects.requireNonNull(other, "other").tensor;
        return computed(productDims(shape.dims(), other.shape.dims()), result -> result.setMatmul(tensor, factor));
    }

    /**
     * The products of a batch of matrices: (B, M, K) with (B, K, N) gives (B, M, N).
     *
     * @param other the second factors, of the same type
     * @return a new array of that type
     * @throws IllegalArgumentException if the shapes do not fit, or the types are not one of FLOAT32, FLOAT16 and
     *     BFLOAT16
     */
    public NDArray batchDot(NDArray other) {
        Objects.requireNonNull(other, "other");
        if (shape.dimension() != 3 || other.shape.dimension() != 3 || shape.get(0) != other.shape.get(0)) {
            throw new IllegalArgumentException("the arrays have the shapes " + shape + " and " + other.shape
                    + ", expected (B, M, K) and (B, K, N)");
        }
        return matMul(other);
    }

    // ---- Comparing, writing and printing ----------------------------------------------------------------------------

    /**
     * Tells whether all elements are close to another array's, as {@code allClose(other, 1e-5, 1e-8, false)}.
     *
     * @param other the array that is compared with
     * @return whether they are close
     */
    public boolean allClose(NDArray other) {
        return allClose(other, 1e-5, 1e-8, false);
    }

    /**
     * Tells whether all elements are close to another array's: a to b iff abs(a - b) is at most atol + rtol * abs(b),
     * in double. An infinity is close to itself alone, as in NumPy.
     *
     * @param other the array that is compared with
     * @param rtol the relative tolerance
     * @param atol the absolute tolerance
     * @param equalNan whether NaN is close to NaN
     * @return whether they are close; false if the shapes differ
     */
    public boolean allClose(NDArray other, double rtol, double atol, boolean equalNan) {
        Objects.requireNonNull(other, "other");
        if (!getShape().equals(other.getShape())) {
            return false;
        }
        double[] left = toDoubles();
        double[] right = other.toDoubles();
        for (int i = 0; i < left.length; i++) {
            boolean close = Double.isInfinite(right[i])
                    ? left[i] == right[i]
                    : Math.abs(left[i] - right[i]) <= atol + rtol * Math.abs(right[i]);
            if (!close && !(equalNan && Double.isNaN(left[i]) && Double.isNaN(right[i]))) {
                return false;
            }
        }
        return true;
    }

    /**
     * Tells whether type, shape and all elements are those of another array. NaN is not equal to NaN, 0 is to -0.
     *
     * @param other the array that is compared with
     * @return whether they are equal
     */
    public boolean contentEquals(NDArray other) {
        Objects.requireNonNull(other, "other");
        if (!getShape().equals(other.getShape()) || dataType != other.getDataType()) {
            return false;
        }
        if (dataType == DataType.INT64) {
            return Arrays.equals(toLongArray(), other.toLongArray());
        }
        double[] left = toDoubles();
        double[] right = other.toDoubles();
        for (int i = 0; i < left.length; i++) {
            if (left[i] != right[i]) {
                return false;
            }
        }
        return true;
    }

    /**
     * Writes the array to a .npy file, as numpy.save does. The file is replaced as a whole, or left as it was.
     *
     * @param path the file
     * @throws UnsupportedOperationException if the array is of BFLOAT16, which the format lacks
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public void save(Path path) {
        tensor.saveNpy(NativeText.of(path));
    }

    /**
     * Describes the array with its elements.
     *
     * @return shape, device, type and, where they are at most 1000, the elements
     */
    public String toDebugString() {
        StringBuilder text = new StringBuilder("ND: " + getShape() + " " + getDevice() + " " + dataType + "\n");
        if (size() > MAX_DEBUG_ELEMENTS) {
            return text.append("[ more than ").append(MAX_DEBUG_ELEMENTS).append(" elements ]\n").toString();
        }
        if (size() == 0) {
            return text.append("[]\n").toString();
        }
        appendElements(text, elementTexts(), 0, 0);
        return text.append('\n').toString();
    }

    @Override
    public String toString() {
        return "NDArray " + shape + " " + dataType + (tensor.isOpen() ? "" : " (closed)");
    }

    // ---- For this package -------------------------------------------------------------------------------------------

    NativeTensor tensor() {
        return tensor;
    }

    // ---- Inside -----------------------------------------------------------------------------------------------------

    private static long[] dimsOf(NativeTensor tensor) {
        long[] dims = new long[tensor.rank()];
        for (int axis = 0; axis < dims.length; axis++) {
            dims[axis] = tensor.dim(axis);
        }
        return dims;
    }

    private static int axisFromZero(String argument, int axis, int rank) {
        if (rank == 0) {
            throw new IllegalArgumentException(argument + " is " + axis + ", but a scalar has no axes");
        }
        if (axis < -rank || axis >= rank) {
            throw new IllegalArgumentException(argument + " is " + axis + ", expected " + -rank + " to " + (rank - 1));
        }
        return axis < 0 ? axis + rank : axis;
    }

    /** What heed_matmul wants its result to be; anything where the shapes do not fit, which it then says. */
    private static long[] productDims(long[] a, long[] b) {
        int batchRank = Math.max(Math.max(a.length, b.length) - 2, 0);
        Shape dims = new Shape();
        for (int axis = -batchRank - 2; axis < -2; axis++) {
            long left = a.length + axis < 0 ? 1 : a[a.length + axis];
            long right = b.length + axis < 0 ? 1 : b[b.length + axis];
            dims = dims.add(left == 1 ? right : left);
        }
        dims = a.length > 1 ? dims.add(a[a.length - 2]) : dims;
        return (b.length > 1 ? dims.add(b[b.length - 1]) : dims).dims();
    }

    private boolean isRowMajor() {
        long expected = 1;
        for (int axis = shape.dimension() - 1; axis >= 0; axis--) {
            if (shape.get(axis) != 1 && tensor.stride(axis) != expected) {
                return false;
            }
            expected *= shape.get(axis);
        }
        return true;
    }

    private NativeTensor create(DataType type, long... dims) {
        return NativeTensor.create(manager.openContext(), type.code, dims);
    }

    /** A new tensor of the array's type. */
    private NDArray computed(long[] dims, Consumer<NativeTensor> computation) {
        return manager.adopt(filled(create(dataType, dims), computation));
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

    private NativeTensor converted(DataType type) {
        return converted(manager.openContext(), type);
    }

    private NativeTensor converted(NativeContext where, DataType type) {
        return filled(NativeTensor.create(where, type.code, shape.dims()), copy -> copy.copy(tensor));
    }

    private boolean isOnCpu() {
        return getDevice().isCpu();
    }

    /** Gives reader a tensor of the elements in that type that arrays of Java's can be filled from. */
    private void read(DataType type, Consumer<NativeTensor> reader) {
        if (type == dataType && isOnCpu()) {
            reader.accept(tensor);
            return;
        }
        try (NativeTensor copy = converted(manager.hostContext(), type)) {
            reader.accept(copy);
        }
    }

    private NativeTensor reshaped(long... dims) {
        try {
            return tensor.reshape(dims);
        } catch (UnsupportedOperationException strides) {
            try (NativeTensor rowMajor = converted(dataType)) {
                return rowMajor.reshape(dims);
            }
        }
    }

    /**
     * Replaces the elements by what filler puts into a tensor: the array's own where inPlace allows it, else a
     * row-major one of that type on the CPU, from which they are converted.
     */
    private void write(boolean inPlace, DataType type, Consumer<NativeTensor> filler) {
        if (writer == null && inPlace) {
            filler.accept(tensor);
            return;
        }
        NativeTensor made = NativeTensor.create(manager.hostContext(), type.code, shape.dims());
        try (NativeTensor values = filled(made, filler)) {
            if (writer == null) {
                tensor.copy(values);
            } else {
                writer.write(values);
                readAnew();
            }
        }
    }

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

    private NDArray element(long[] indices) {
        if (indices.length != shape.dimension()) {
            throw new IllegalArgumentException(
                    indices.length + " indices were given, the array has the shape " + shape);
        }
        return get(indices);
    }

    private double[] toDoubles() {
        double[] elements = new double[javaSize()];
        read(DataType.FLOAT64, source -> source.read(elements));
        return elements;
    }

    private void require(String method, DataType type) {
        tensor.checkOpen();
        if (dataType != type) {
            throw wrongType(method, type.name());
        }
    }

    private void requireFloats(String method) {
        tensor.checkOpen();
        if (dataType != DataType.FLOAT32 && dataType != DataType.FLOAT16 && dataType != DataType.BFLOAT16) {
            throw wrongType(method, "FLOAT32, FLOAT16 or BFLOAT16");
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

    private static int bufferSize(NativeTensor tensor) {
        long numBytes = tensor.numBytes();
        if (numBytes > Integer.MAX_VALUE) {
            throw new IllegalStateException("the array has " + numBytes + " bytes, more than a Java buffer can hold");
        }
        return (int) numBytes;
    }

    private String[] elementTexts() {
        String[] texts = new String[javaSize()];
        if (dataType.isFloating()) {
            double[] elements = toDoubles();
            boolean wide = dataType == DataType.FLOAT64;
            Arrays.setAll(texts, i -> wide ? Double.toString(elements[i]) : Float.toString((float) elements[i]));
        } else if (dataType.isBoolean()) {
            boolean[] elements = toBooleanArray();
            Arrays.setAll(texts, i -> Boolean.toString(elements[i]));
        } else {
            long[] elements = new long[texts.length];
            read(DataType.INT64, source -> source.read(elements));
            Arrays.setAll(texts, i -> Long.toString(elements[i]));
        }
        return texts;
    }

    /** Appends the part from an axis on whose first element is the one at start; gives the index after it. */
    private int appendElements(StringBuilder text, String[] elements, int axis, int start) {
        if (axis == shape.dimension()) {
            text.append(elements[start]);
            return start + 1;
        }
        boolean innermost = axis == shape.dimension() - 1;
        int next = start;
        text.append('[');
        for (long i = 0; i < shape.get(axis); i++) {
            text.append(i == 0 ? "" : innermost ? ", " : ",\n" + " ".repeat(axis + 1));
            next = appendElements(text, elements, axis + 1, next);
        }
        text.append(']');
        return next;
    }
}
