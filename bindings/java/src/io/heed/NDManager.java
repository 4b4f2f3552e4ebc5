// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Objects;

/**
 * Makes arrays and owns them: closing the manager closes its arrays, its sub-managers, and the blocks that were
 * initialized with it.
 *
 * <p>May be used from many threads.
 */
public final class NDManager implements AutoCloseable {
    private static final String CLOSED = "the manager is closed";

    private final NativeContext context;
    private final Registry registry = new Registry();
    private final Registry parent;

    private NDManager(NativeContext context, Registry parent) {
        this.context = context;
        this.parent = parent;
    }

    /**
     * Makes a manager for the CPU.
     *
     * @return a manager, which the caller closes
     * @throws UnsatisfiedLinkError if the native library cannot be loaded
     */
    public static NDManager newBaseManager() {
        return new NDManager(Library.context(), null);
    }

    /**
     * Makes a manager that is closed with this one, if not before.
     *
     * @return a manager, which the caller may close
     * @throws IllegalStateException if this manager is closed
     */
    public NDManager newSubManager() {
        NDManager manager = new NDManager(context, registry);
        if (!registry.add(manager.registry)) {
            throw new IllegalStateException(CLOSED);
        }
        return manager;
    }

    /**
     * Makes a scalar.
     *
     * @param data its value
     * @return a FLOAT32 array of shape ()
     */
    public NDArray create(float data) {
        return create(new float[] {data}, new Shape());
    }

    /**
     * Makes an array of one axis.
     *
     * @param data the elements, which are copied
     * @return a FLOAT32 array of shape (data.length)
     */
    public NDArray create(float[] data) {
        Objects.requireNonNull(data, "data");
        return create(data, new Shape(data.length));
    }

    /**
     * Makes an array.
     *
     * @param data the elements in row-major order, which are copied
     * @param shape a shape with as many elements
     * @return a FLOAT32 array of that shape
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray create(float[] data, Shape shape) {
        Objects.requireNonNull(data, "data");
        return filled(shape, DataType.FLOAT32, tensor -> tensor.write(data));
    }

    /**
     * Makes an array of one axis.
     *
     * @param data the elements, which are copied
     * @return an INT32 array of shape (data.length)
     */
    public NDArray create(int[] data) {
        Objects.requireNonNull(data, "data");
        return create(data, new Shape(data.length));
    }

    /**
     * Makes an array.
     *
     * @param data the elements in row-major order, which are copied
     * @param shape a shape with as many elements
     * @return an INT32 array of that shape
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray create(int[] data, Shape shape) {
        Objects.requireNonNull(data, "data");
        return filled(shape, DataType.INT32, tensor -> tensor.write(data));
    }

    /**
     * Makes an array of one axis.
     *
     * @param data the elements, which are copied
     * @return an INT64 array of shape (data.length)
     */
    public NDArray create(long[] data) {
        Objects.requireNonNull(data, "data");
        return create(data, new Shape(data.length));
    }

    /**
     * Makes an array.
     *
     * @param data the elements in row-major order, which are copied
     * @param shape a shape with as many elements
     * @return an INT64 array of that shape
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray create(long[] data, Shape shape) {
        Objects.requireNonNull(data, "data");
        return filled(shape, DataType.INT64, tensor -> tensor.write(data));
    }

    /**
     * Makes an array of zeros.
     *
     * @param shape its shape
     * @return a FLOAT32 array
     */
    public NDArray zeros(Shape shape) {
        return zeros(shape, DataType.FLOAT32);
    }

    /**
     * Makes an array of zeros.
     *
     * @param shape its shape
     * @param dataType the type of its elements
     * @return an array of that type
     */
    public NDArray zeros(Shape shape, DataType dataType) {
        return filled(shape, dataType, tensor -> {});
    }

    /**
     * Makes an array of ones.
     *
     * @param shape its shape
     * @return a FLOAT32 array
     */
    public NDArray ones(Shape shape) {
        return ones(shape, DataType.FLOAT32);
    }

    /**
     * Makes an array of ones.
     *
     * @param shape its shape
     * @param dataType the type of its elements
     * @return an array of that type
     */
    public NDArray ones(Shape shape, DataType dataType) {
        return filled(shape, dataType, tensor -> tensor.fill(1));
    }

    /**
     * Makes an array whose elements are all the same.
     *
     * @param shape its shape
     * @param value the value of every element
     * @return a FLOAT32 array
     */
    public NDArray full(Shape shape, float value) {
        return full(shape, value, DataType.FLOAT32);
    }

    /**
     * Makes an array whose elements are all the same.
     *
     * @param shape its shape
     * @param value the value of every element, converted to the type
     * @param dataType the type of its elements
     * @return an array of that type
     */
    public NDArray full(Shape shape, float value, DataType dataType) {
        return filled(shape, dataType, tensor -> tensor.fill(value));
    }

    /**
     * Reads one array of a .safetensors file.
     *
     * @param path the file
     * @param name the array's name in it
     * @return an array of the file's type and shape
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it is not
     *     what its format says, {@link Status#NOT_FOUND} if it has no array of that name
     */
    public NDArray load(Path path, String name) {
        ByteBuffer file = NativeText.of(path);
        ByteBuffer tensor = NativeText.of(name, "name");
        return adopt(NativeTensor.loadSafetensors(openContext(), file, tensor));
    }

    /**
     * Tells whether the manager can still be used.
     *
     * @return false once it is closed
     */
    public boolean isOpen() {
        return registry.isOpen();
    }

    /** Closes the manager and all that belongs to it. Arrays in use by a call on another thread are freed after it. */
    @Override
    public void close() {
        registry.close();
        if (parent != null) {
            parent.remove(registry);
        }
    }

    @Override
    public String toString() {
        return isOpen() ? "NDManager cpu()" : "NDManager (closed)";
    }

    NativeContext openContext() {
        if (!isOpen()) {
            throw new IllegalStateException(CLOSED);
        }
        return context;
    }

    /** Makes this manager the owner of a new native object, which is closed if the manager is. */
    void own(NativeHandle handle) {
        if (!handle.attach(registry)) {
            handle.close();
            throw new IllegalStateException(CLOSED);
        }
    }

    NDArray adopt(NativeTensor tensor) {
        own(tensor);
        return new NDArray(this, tensor);
    }

    private interface Filler {
        void fill(NativeTensor tensor);
    }

    private NDArray filled(Shape shape, DataType dataType, Filler filler) {
        Objects.requireNonNull(shape, "shape");
        Objects.requireNonNull(dataType, "dataType");
        NativeTensor tensor = NativeTensor.create(openContext(), dataType.code, shape.dims());
        try {
            filler.fill(tensor);
        } catch (Throwable error) {
            tensor.close();
            throw error;
        }
        return adopt(tensor);
    }
}
