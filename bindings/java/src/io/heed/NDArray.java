// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;

/**
 * An array of elements of one type. Its memory is outside Java's heap, and it belongs to a manager. Elements are
 * written and read in row-major order.
 *
 * <p>A method that returns "a view" returns an array that shares its elements with this one: a write to one changes
 * both, and the elements stay alive as long as one of them is open. All other methods that return an array return a new
 * one. Both belong to this array's manager. Negative axes count from the end; an axis that does not exist is an
 * IllegalArgumentException.
 *
 * <p>Many threads may read an array at the same time. If a thread writes to it while another uses it, the results are
 * undefined. Every method but {@code close}, {@code isReleased}, {@code getManager}, {@code getDevice}, {@code
 * getName}, {@code setName}, {@code equals}, {@code hashCode} and {@code toString} throws IllegalStateException once the array or its manager is closed.
 */
public final class NDArray implements AutoCloseable {
    /** Sets a block's parameter when the program writes to a snapshot of it, which is read-only. */
    interface Writer {
        /** Replaces all elements by those of a tensor of the array's shape. */
        void write(NativeTensor value);

        /** Returns the present elements as a tensor of the array's shape and type, which the array then owns. */
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
     * Returns the manager that owns the array, and the arrays that are made from it.
     *
     * @return the manager, which may be closed; after {@link #detach} a manager that owns nothing and cannot be closed
     */
    public NDManager getManager() {
        return data.manager();
    }

    /**
     * Returns the array's name.
     *
     * @return the name that {@link #setName} has set, or null
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
     * Moves the array to another manager, which closes the array when it is closed.
     *
     * @param manager the new owner
     * @throws IllegalArgumentException if the manager is for another device
     * @throws IllegalStateException if the manager is closed; the array then keeps its manager
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

    /**
     * Removes the array from its manager: closing the manager does not close the array any more, and the caller has to.
     */
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

    /**
     * Frees the array. If a call on another thread uses it, it is freed after that call. Closing twice does nothing.
     */
    @Override
    public void close() {
        data.close();
    }

    // ---- Elements to Java -------------------------------------------------------------------------------------------

    /**
     * Copies the elements of a FLOAT32, FLOAT16 or BFLOAT16 array. Those of 16 bits are widened, which is exact.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public float[] toFloatArray() {
        return ArrayElements.floats(data);
    }

    /**
     * Copies the elements of a FLOAT64 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public double[] toDoubleArray() {
        return ArrayElements.doubles(data);
    }

    /**
     * Copies the elements of an INT32 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public int[] toIntArray() {
        return ArrayElements.ints(data);
    }

    /**
     * Copies the elements of an INT64 array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public long[] toLongArray() {
        return ArrayElements.longs(data);
    }

    /**
     * Copies the elements of an INT8 or UINT8 array.
     *
     * @return the elements; those of UINT8 above 127 become negative bytes
     * @throws IllegalStateException if the array is of another type
     */
    public byte[] toByteArray() {
        return ArrayElements.bytes(data);
    }

    /**
     * Copies the elements of a BOOLEAN array.
     *
     * @return the elements
     * @throws IllegalStateException if the array is of another type
     */
    public boolean[] toBooleanArray() {
        return ArrayElements.booleans(data);
    }

    /**
     * Copies the bytes of the elements of an array of any type.
     *
     * @return a new direct buffer in native byte order, at position 0
     * @throws IllegalStateException if they are more than 2147483647 bytes
     */
    public ByteBuffer toByteBuffer() {
        return ArrayElements.copiedBytes(data);
    }

    /**
     * Returns a view of a FLOAT32 array's memory, without a copy. The buffer may be read and written. It keeps the
     * memory alive: it stays valid when the array, its manager or a buffer that was wrapped is closed or forgotten.
     *
     * @return a direct buffer of all elements, at position 0
     * @throws IllegalStateException if the array has another type, its elements are not contiguous in row-major order,
     *     it is read-only (a block's parameter), it is on another device than the CPU, or it has more than 2147483647
     *     bytes: {@link #duplicate} or {@link #toFloatArray} copy the elements
     */
    public FloatBuffer toFloatBuffer() {
        return ArrayMemory.floats(data);
    }

    /**
     * Returns one element of a FLOAT32, FLOAT16 or BFLOAT16 array.
     *
     * @param indices one index for each axis; negative ones count from the end
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
     * @param indices one index for each axis; negative ones count from the end
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
     * Replaces all elements. For a FLOAT16 or BFLOAT16 array they are rounded. The array may be a block's parameter:
     * the block computes with the new elements from then on.
     *
     * @param data one element for each of the array
     * @throws IllegalArgumentException if there are more or fewer elements
     * @throws IllegalStateException if the array is not of FLOAT32, FLOAT16 or BFLOAT16
     */
    public void set(float[] data) {
        Objects.requireNonNull(data, "data");
        ArrayElements.set(this.data, data);
    }

    /**
     * Replaces all elements.
     *
     * @param data one element for each of the array
     * @throws IllegalArgumentException if there are more or fewer elements
     * @throws IllegalStateException if the array is not of INT32
     */
    public void set(int[] data) {
        Objects.requireNonNull(data, "data");
        ArrayElements.set(this.data, data);
    }

    /**
     * Replaces all elements.
     *
     * @param data one element for each of the array
     * @throws IllegalArgumentException if there are more or fewer elements
     * @throws IllegalStateException if the array is not of INT64
     */
    public void set(long[] data) {
        Objects.requireNonNull(data, "data");
        ArrayElements.set(this.data, data);
    }

    /**
     * Replaces all elements by those between a buffer's position and limit, in its byte order. The buffer's position
     * does not change.
     *
     * @param data a buffer of the array's type, or a ByteBuffer, which can hold elements of any type
     * @throws IllegalArgumentException if it has another type, or more or fewer elements
     */
    public void set(Buffer data) {
        Objects.requireNonNull(data, "data");
        ArrayElements.set(this.data, data);
    }

    /**
     * Copies the elements into another array. They are converted to its type, and repeated along axes that are missing
     * or have size 1 here. Floating-point numbers become integers by truncation; numbers out of range become the
     * nearest number in range, and NaN becomes 0.
     *
     * @param array the array to write, which must not share memory with this one; it may be on another device
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
     * @param dataType the new type
     * @param copy whether to copy the array even if it already has that type
     * @return a new array of that type, or this one
     */
    public NDArray toType(DataType dataType, boolean copy) {
        Objects.requireNonNull(dataType, "dataType");
        data.checkOpen();
        return dataType == data.dataType && !copy ? this : data.adopt(data.converted(dataType));
    }

    /**
     * Copies the array to a device, without changing its type.
     *
     * @param device the device
     * @param copy whether to copy the array even if it is already on that device
     * @return this array, if it is on that device and {@code copy} is false; otherwise a new row-major array. A new
     *     array on another device belongs to a manager for that device, which has the options of this array's manager
     *     and is closed with it
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
     * Returns the part of the array at some indices of the first axes.
     *
     * @param indices an index for each of the first axes, at most as many as the array has axes; negative ones count
     *     from the end
     * @return a view of the remaining axes; a scalar if there are none
     * @throws IllegalArgumentException if there is no such part
     */
    public NDArray get(long... indices) {
        return ArrayViews.part(data, Objects.requireNonNull(indices, "indices"));
    }

    /**
     * Returns a part of the array.
     *
     * @param index an index or a range for each of the first axes
     * @return a view
     * @throws IllegalArgumentException if there is no such part
     */
    public NDArray get(NDIndex index) {
        return Objects.requireNonNull(index, "index").of(data);
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
     * Returns the elements in another shape.
     *
     * @param newShape the sizes of the axes; one of them may be -1, and is then computed from the others
     * @return a view if the strides allow one, otherwise a copy, as for a transposed array
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray reshape(long... newShape) {
        return ArrayViews.reshaped(data, Objects.requireNonNull(newShape, "newShape"));
    }

    /**
     * Returns the elements in another shape.
     *
     * @param newShape the shape; one of its sizes may be -1, and is then computed from the others
     * @return a view if the strides allow one, otherwise a copy, as for a transposed array
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray reshape(Shape newShape) {
        return reshape(Objects.requireNonNull(newShape, "newShape").dims());
    }

    /**
     * Returns the elements in a single axis.
     *
     * @return a view if the strides allow one, otherwise a copy, as for a transposed array
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
     * Changes the order of the axes.
     *
     * @param axes the axes of this array in the order of the result, each of them once
     * @return a view
     * @throws IllegalArgumentException if an axis is missing or given twice
     */
    public NDArray transpose(int... axes) {
        return ArrayViews.transposed(data, Objects.requireNonNull(axes, "axes"));
    }

    /**
     * Exchanges two axes.
     *
     * @param axis1 the first axis
     * @param axis2 the second axis
     * @return a view
     */
    public NDArray swapAxes(int axis1, int axis2) {
        return ArrayViews.swapped(data, axis1, axis2);
    }

    /**
     * Adds an axis of size 1.
     *
     * @param axis the index of the new axis in the result; negative ones count from the result's end
     * @return a view
     */
    public NDArray expandDims(int axis) {
        return ArrayViews.expanded(data, axis);
    }

    /**
     * Removes all axes of size 1.
     *
     * @return a view
     */
    public NDArray squeeze() {
        return reshape(Arrays.stream(data.shape.dims()).filter(dim -> dim != 1).toArray());
    }

    /**
     * Removes some axes of size 1.
     *
     * @param axes the axes to remove
     * @return a view
     * @throws IllegalArgumentException if one has another size
     */
    public NDArray squeeze(int... axes) {
        return ArrayViews.squeezed(data, Objects.requireNonNull(axes, "axes"));
    }

    /**
     * Repeats each part along an axis: (a, b) repeated twice is (a, a, b, b).
     *
     * @param axis the axis
     * @param repeats the number of times
     * @return a new array
     * @throws IllegalArgumentException if repeats is negative
     */
    public NDArray repeat(int axis, long repeats) {
        return ArrayMath.repeated(data, axis, repeats);
    }

    /**
     * Repeats the array along axes that are missing or have size 1.
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
     * Softmax along an axis, computed in FLOAT32. -inf gives 0; NaN or +inf make their row NaN, and so does a row of
     * -inf only.
     *
     * @param axis the axis
     * @return a new array of the same type and shape
     * @throws IllegalArgumentException if the array is a scalar or of another type than FLOAT32, FLOAT16 or BFLOAT16
     */
    public NDArray softmax(int axis) {
        return data.computed(data.shape.dims(), result -> HeedNative.heed_softmax(data.tensor(), axis, result));
    }

    /** The activation of each element, as a block of {@link Activation} computes it. */
    NDArray activated(ActivationKind activation) {
        return data.computed(
                data.shape.dims(), result -> HeedNative.heed_activation(data.tensor(), activation.code, result));
    }

    /**
     * The product of matrices, with the shapes of NumPy's matmul: (..., M, K) with (..., K, N) gives (..., M, N). The
     * axes before the last two are repeated as in {@link #broadcast}. For a vector (K), the axis M or N is missing in
     * the operand and in the result.
     *
     * @param other the second factor, of the same type
     * @return a new array of that type
     * @throws IllegalArgumentException if the shapes do not fit, or the arrays do not have the same type, FLOAT32,
     *     FLOAT16 or BFLOAT16
     */
    public NDArray matMul(NDArray other) {
        return ArrayMath.product(data, openArgument(other, "other"));
    }

    /**
     * The products of a batch of matrices: (B, M, K) with (B, K, N) gives (B, M, N).
     *
     * @param other the second factors, of the same type
     * @return a new array of that type
     * @throws IllegalArgumentException if the shapes do not fit, or the arrays do not have the same type, FLOAT32,
     *     FLOAT16 or BFLOAT16
     */
    public NDArray batchDot(NDArray other) {
        return ArrayMath.batchProduct(data, openArgument(other, "other"));
    }

    // ---- Comparing, writing and printing ----------------------------------------------------------------------------

    /**
     * Tells whether all elements are close to those of another array, as {@code allClose(other, 1e-5, 1e-8, false)}
     * does.
     *
     * @param other the array to compare with
     * @return whether they are close
     */
    public boolean allClose(NDArray other) {
        return allClose(other, 1e-5, 1e-8, false);
    }

    /**
     * Tells whether all elements are close to those of another array: a is close to b if abs(a - b) is at most atol +
     * rtol * abs(b), computed in double. As in NumPy, an infinity is close only to itself.
     *
     * @param other the array to compare with
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
     * Tells whether another array has the same type, the same shape and equal elements. NaN is not equal to NaN; 0 is
     * equal to -0.
     *
     * @param other the array to compare with
     * @return whether they are equal
     */
    public boolean contentEquals(NDArray other) {
        ArrayData right = openArgument(other, "other");
        return getShape().equals(right.shape)
                && data.dataType == right.dataType
                && ArrayMath.areEqual(data, right, false);
    }

    /**
     * Tells whether an object is an array of the same type and shape with equal elements, wherever their managers and
     * devices. NaN is equal to NaN, unlike in {@link #contentEquals}, and 0 to -0. All elements are read until two
     * differ. A closed array is equal only to itself.
     *
     * @param object any object, or null
     * @return whether it is such an array
     */
    @Override
    public boolean equals(Object object) {
        if (this == object) {
            return true;
        }
        if (!(object instanceof NDArray)) {
            return false;
        }
        ArrayData right = ((NDArray) object).data;
        return data.dataType == right.dataType
                && data.shape.equals(right.shape)
                && data.isOpen()
                && right.isOpen()
                && ArrayMath.areEqual(data, right, true);
    }

    /**
     * Returns a number that follows from type and shape alone, since elements may change while the array is in a set.
     *
     * @return the number
     */
    @Override
    public int hashCode() {
        return 31 * data.shape.hashCode() + data.dataType.code;
    }

    /**
     * Writes the array to a .npy file, as numpy.save does. If that fails, an existing file is unchanged.
     *
     * @param path the file
     * @throws UnsupportedOperationException if the array is BFLOAT16, which the format does not have
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public void save(Path path) {
        data.tensor().saveNpy(NativeText.of(path));
    }

    /**
     * Describes the array with its elements.
     *
     * @return shape, device, type and, if there are at most 1000, the elements
     */
    public String toDebugString() {
        return ArrayText.debugString(data);
    }

    /**
     * Describes the array with its elements as NumPy prints them, in columns: with at most 8 digits after the point,
     * and with exponents if the magnitudes of the numbers differ much. Of an array with more than 1000 elements, the
     * first 3 and the last 3 along each axis are shown. For an array on another device, the call waits for its elements
     * and copies them; an error of the device is thrown, as by {@link #toFloatArray}.
     *
     * @return a line with the shape, the type and, except for the CPU, the device, and then the elements; for a closed
     *     array only the line, which says that it is closed
     */
    @Override
    public String toString() {
        return ArrayText.of(data);
    }

    // ---- For this package -------------------------------------------------------------------------------------------

    NativeTensor tensor() {
        return data.tensor();
    }

    /** Returns the native array of an argument, or null if it is null. Throws if it is closed. */
    static NativeTensor tensorOf(NDArray array, String argument) {
        if (array != null && array.isReleased()) {
            throw new IllegalStateException("the array " + argument + " is closed");
        }
        return array == null ? null : array.tensor();
    }

    /** Returns the data of the array, even if it is closed. */
    ArrayData data() {
        return data;
    }

    /** Returns the data of an argument. Throws if this array or the argument is closed. */
    private ArrayData openArgument(NDArray array, String argument) {
        Objects.requireNonNull(array, argument);
        data.checkOpen();
        tensorOf(array, argument);
        return array.data;
    }
}
