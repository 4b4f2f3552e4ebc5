// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;

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
    /** Where the elements of an array are that cannot be written in place: a block's parameter. */
    interface Writer {
        /** Replaces all elements by those of a tensor of the array's shape. */
        void write(NativeTensor value);

        /** The elements as they are now, a tensor of the array's shape and type that the array then owns. */
        NativeTensor current();
    }

    private final ArrayData data;
    private volatile String name;

    NDArray(NDManager manager, NativeTensor tensor) {
        this(manager, tensor, null);
    }

    NDArray(NDManager manager, NativeTensor tensor, Writer writer) {
        data = new ArrayData(manager, tensor, writer);
    }

    // ---- What it is -------------------------------------------------------------------------------------------------

    /**
     * Returns the sizes of the axes.
     *
     * @return the shape
     */
    public Shape getShape() {
        data.checkOpen();
        return data.shape;
    }

    /**
     * Returns the type of the elements.
     *
     * @return the type
     */
    public DataType getDataType() {
        data.checkOpen();
        return data.dataType;
    }

    /**
     * Returns the device that the elements are on.
     *
     * @return the manager's device
     */
    public Device getDevice() {
        return data.manager().getDevice();
    }

    /**
     * Returns the manager that the array belongs to, and to which the arrays go that are made from it.
     *
     * @return the manager, which may be closed; after {@link #detach} one that owns nothing and cannot be closed
     */
    public NDManager getManager() {
        return data.manager();
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
        return getShape().size();
    }

    /**
     * Returns the size of one axis.
     *
     * @param axis the axis
     * @return its size
     */
    public long size(int axis) {
        Shape shape = getShape();
        return shape.get(Shape.axisFromZero("axis", axis, shape.dimension()));
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
        data.checkOpen();
        if (!manager.getDevice().equals(getDevice())) {
            throw new IllegalArgumentException(
                    "manager is for " + manager.getDevice() + ", the array is on " + getDevice());
        }
        data.attach(manager);
    }

    /** Takes the array from its manager: it stays open when that is closed, and the caller closes it. */
    public void detach() {
        attach(getManager().unmanaged());
    }

    /**
     * Tells whether the array is closed.
     *
     * @return true once the array or its manager is closed
     */
    public boolean isReleased() {
        return !data.isOpen();
    }

    /** Frees the array; if a call on another thread uses it, after that call. Closing twice does nothing. */
    @Override
    public void close() {
        data.close();
    }

    // ---- Elements to Java -------------------------------------------------------------------------------------------

    /**
     * Copies the elements out of a FLOAT32, FLOAT16 or BFLOAT16 array; those of 16 bits are widened, which is exact.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public float[] toFloatArray() {
        return ArrayElements.floats(data);
    }

    /**
     * Copies the elements out of a FLOAT64 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public double[] toDoubleArray() {
        return ArrayElements.doubles(data);
    }

    /**
     * Copies the elements out of an INT32 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public int[] toIntArray() {
        return ArrayElements.ints(data);
    }

    /**
     * Copies the elements out of an INT64 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public long[] toLongArray() {
        return ArrayElements.longs(data);
    }

    /**
     * Copies the elements out of an INT8 or UINT8 array.
     *
     * @return the elements; those of UINT8 above 127 come as negative bytes
     * @throws IllegalStateException if the array is of another type
     */
    public byte[] toByteArray() {
        return ArrayElements.bytes(data);
    }

    /**
     * Copies the elements out of a BOOLEAN array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public boolean[] toBooleanArray() {
        return ArrayElements.booleans(data);
    }

    /**
     * Copies the bytes of the elements, of any type.
     *
     * @return a new direct buffer in native order, at position 0
     * @throws IllegalStateException if they are more than 2147483647 bytes
     */
    public ByteBuffer toByteBuffer() {
        return ArrayElements.copiedBytes(data);
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
        return ArrayMemory.floats(data);
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
        ArrayElements.requireFloats(data, "getFloat");
        try (NDArray element = ArrayViews.element(data, indices)) {
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
        ArrayElements.require(data, "getLong", DataType.INT64);
        try (NDArray element = ArrayViews.element(data, indices)) {
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
        ArrayElements.set(this.data, data);
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
        ArrayElements.set(this.data, data);
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
        ArrayElements.set(this.data, data);
    }

    /**
     * Replaces all elements by those between a buffer's position and limit, in its byte order. The position stays.
     *
     * @param data a buffer of the array's type, or a ByteBuffer, which holds elements of any type
     * @throws IllegalArgumentException if it is of another type, or has more or less elements
     */
    public void set(Buffer data) {
        Objects.requireNonNull(data, "data");
        ArrayElements.set(this.data, data);
    }

    /**
     * Copies the elements into another array, converted to its type and repeated along axes that are missing or 1 here.
     * Floats become integers by truncation, what is out of range becomes the nearest in range, NaN 0.
     *
     * @param array the array that is written, which shares no memory with this one; it may be on another device
     * @throws IllegalArgumentException if the shapes do not fit, or the arrays overlap
     */
    public void copyTo(NDArray array) {
        ArrayData target = openArgument(array, "array");
        target.write(true, target.dataType, tensor -> tensor.copy(data.tensor()));
    }

    // ---- New arrays -------------------------------------------------------------------------------------------------

    /**
     * Copies the array.
     *
     * @return a new array of the same type and shape, row-major
     */
    public NDArray duplicate() {
        return data.adopt(data.converted(data.dataType));
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
        data.checkOpen();
        return dataType == data.dataType && !copy ? this : data.adopt(data.converted(dataType));
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
        data.checkOpen();
        if (device.equals(getDevice())) {
            return copy ? duplicate() : this;
        }
        NDManager there = getManager().on(device);
        return there.adopt(data.converted(there.openContext(), data.dataType));
    }

    /**
     * Gives the part of the array at leading indices.
     *
     * @param indices at most as many as the array has axes; negative ones count from the end
     * @return a view of the remaining axes; a scalar if there are none left
     * @throws IllegalArgumentException if there is no such part
     */
    public NDArray get(long... indices) {
        return ArrayViews.part(data, Objects.requireNonNull(indices, "indices"));
    }

    /**
     * Returns a range of the array along one axis.
     *
     * @param axis the axis
     * @param start the first index; a negative one counts from the end
     * @param length the number of indices
     * @return a view with as many axes
     * @throws IllegalArgumentException if there is no such part
     */
    public NDArray slice(int axis, long start, long length) {
        return data.adopt(data.tensor().slice(axis, start, length));
    }

    /**
     * Gives the elements in another shape.
     *
     * @param newShape the sizes of the axes; one of them may be -1, which is worked out
     * @return a view where there is one, a copy where the elements of a transposed array, for example, lie otherwise
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray reshape(long... newShape) {
        return ArrayViews.reshaped(data, Objects.requireNonNull(newShape, "newShape"));
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
        return data.adopt(data.tensor().transpose(null));
    }

    /**
     * Puts the axes in another order.
     *
     * @param axes which axis of this array comes first, second and so on: each axis once
     * @return a view
     * @throws IllegalArgumentException if an axis is missing or named twice
     */
    public NDArray transpose(int... axes) {
        return ArrayViews.transposed(data, Objects.requireNonNull(axes, "axes"));
    }

    /**
     * Exchanges two axes.
     *
     * @param axis1 one
     * @param axis2 the other
     * @return a view
     */
    public NDArray swapAxes(int axis1, int axis2) {
        return ArrayViews.swapped(data, axis1, axis2);
    }

    /**
     * Adds an axis of size 1.
     *
     * @param axis where it is in the result; negative ones count from the result's end
     * @return a view
     */
    public NDArray expandDims(int axis) {
        return ArrayViews.expanded(data, axis);
    }

    /**
     * Takes all axes of size 1 away.
     *
     * @return a view
     */
    public NDArray squeeze() {
        return reshape(Arrays.stream(data.shape.dims()).filter(dim -> dim != 1).toArray());
    }

    /**
     * Takes axes of size 1 away.
     *
     * @param axes which
     * @return a view
     * @throws IllegalArgumentException if one has another size
     */
    public NDArray squeeze(int... axes) {
        return ArrayViews.squeezed(data, Objects.requireNonNull(axes, "axes"));
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
        return ArrayMath.repeated(data, axis, repeats);
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
        return data.computed(shape.dims(), result -> result.copy(data.tensor()));
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
        return data.computed(data.shape.dims(), result -> HeedNative.heed_softmax(data.tensor(), axis, result));
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
        return ArrayMath.product(data, openArgument(other, "other"));
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
        return ArrayMath.batchProduct(data, openArgument(other, "other"));
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
        ArrayData right = openArgument(other, "other");
        return getShape().equals(right.shape) && ArrayMath.areClose(data, right, rtol, atol, equalNan);
    }

    /**
     * Tells whether type, shape and all elements are those of another array. NaN is not equal to NaN, 0 is to -0.
     *
     * @param other the array that is compared with
     * @return whether they are equal
     */
    public boolean contentEquals(NDArray other) {
        ArrayData right = openArgument(other, "other");
        return getShape().equals(right.shape)
                && data.dataType == right.dataType
                && ArrayMath.areEqual(data, right);
    }

    /**
     * Writes the array to a .npy file, as numpy.save does. The file is replaced as a whole, or left as it was.
     *
     * @param path the file
     * @throws UnsupportedOperationException if the array is of BFLOAT16, which the format lacks
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public void save(Path path) {
        data.tensor().saveNpy(NativeText.of(path));
    }

    /**
     * Describes the array with its elements.
     *
     * @return shape, device, type and, where they are at most 1000, the elements
     */
    public String toDebugString() {
        return ArrayText.debugString(data);
    }

    /**
     * Describes the array with its elements as NumPy prints them, in columns: 8 digits after the point, where more
     * digits would tell no more, with exponents where the numbers' sizes differ much. Of more than 1000 elements the
     * first and last 3 along each axis are shown. For an array on another device, the call waits for its elements
     * and copies them; an error of the device is thrown, as by {@link #toFloatArray}.
     *
     * @return one line with shape, type and, other than the CPU, device, and then the elements; for a closed array only
     *     the line, which says so
     */
    @Override
    public String toString() {
        return ArrayText.of(data);
    }

    // ---- For this package -------------------------------------------------------------------------------------------

    NativeTensor tensor() {
        return data.tensor();
    }

    /** The native array of an argument of that name, null for null; throws if it is closed. */
    static NativeTensor tensorOf(NDArray array, String argument) {
        if (array != null && array.isReleased()) {
            throw new IllegalStateException("the array " + argument + " is closed");
        }
        return array == null ? null : array.tensor();
    }

    /** The data of the array, even if it is closed. */
    ArrayData data() {
        return data;
    }

    /** Throws if this array is closed, or if the argument is. */
    private ArrayData openArgument(NDArray array, String argument) {
        Objects.requireNonNull(array, argument);
        data.checkOpen();
        tensorOf(array, argument);
        return array.data;
    }
}
