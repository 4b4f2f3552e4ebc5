// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.ref.Cleaner;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Makes arrays and owns them: closing the manager closes its arrays, its sub-managers, its workspaces, its caches, and
 * the parameters of the blocks that were initialized with it.
 *
 * <p>Every method that makes something throws IllegalStateException once the manager is closed,
 * IllegalArgumentException for a shape with a negative size, with more than 8 axes or with sizes that overflow, and
 * OutOfMemoryError if there is not enough memory.
 *
 * <p>Many threads may use a manager at the same time.
 */
public final class NDManager implements AutoCloseable {
    static final String CLOSED = "the manager is closed";

    /** The state that the manager shares with its sub-managers. */
    private final Contexts contexts;
    private final NativeContext context;
    private final Device device;
    private final NDManager parent;
    /** What the manager closes. Null: the manager owns nothing and cannot be closed. */
    private final Registry registry;
    /** Closes the registry of a sub-manager that nothing refers to any more; null for base managers. */
    private final Cleaner.Cleanable cleanable;
    /** The manager whose arrays {@link #on} copies to this one; for all other managers this one itself. */
    private final NDManager home;
    private final ArrayMaker maker = new ArrayMaker(this);
    /** The managers that {@link #on} has made, by device. Guarded by its own lock. */
    private final Map<Device, NDManager> elsewhere = new HashMap<>();

    private NDManager(Contexts contexts, Device device, NDManager parent, Registry registry, NDManager home) {
        this.contexts = contexts;
        this.device = device;
        this.parent = parent;
        this.registry = registry;
        this.home = home == null ? this : home;
        context = contexts.of(device);
        cleanable = parent == null ? null : NativeHandle.CLEANER.register(this, registry::forget);
    }

    // ---- Managers ---------------------------------------------------------------------------------------------------

    /**
     * Makes a manager for the CPU.
     *
     * @return a manager, which the caller closes
     * @throws UnsatisfiedLinkError if the native library cannot be loaded
     */
    public static NDManager newBaseManager() {
        return newBaseManager(Device.cpu());
    }

    /**
     * Makes a manager for a device.
     *
     * @param device the device of the manager's arrays
     * @return a manager, which the caller closes
     * @throws UnsatisfiedLinkError if the native library cannot be loaded
     * @throws HeedException with {@link Status#DEVICE_UNAVAILABLE} and what to do if the device cannot be used
     */
    public static NDManager newBaseManager(Device device) {
        return newBaseManager(device, ContextOptions.DEFAULTS);
    }

    /**
     * Makes a manager for a device.
     *
     * @param device the device of the manager's arrays
     * @param options how the manager, its sub-managers and everything made with them use the device
     * @return a manager, which the caller closes
     * @throws IllegalArgumentException if an option is out of range
     * @throws UnsatisfiedLinkError if the native library cannot be loaded
     * @throws HeedException with {@link Status#DEVICE_UNAVAILABLE} and what to do if the device cannot be used
     */
    public static NDManager newBaseManager(Device device, ContextOptions options) {
        Objects.requireNonNull(device, "device");
        Objects.requireNonNull(options, "options");
        Registry registry = new Registry(null);
        return new NDManager(new Contexts(options, registry), device, null, registry, null);
    }

    /**
     * Makes a manager. Closing this manager also closes the new one.
     *
     * @return a manager with the same device and options, which the caller may close
     */
    public NDManager newSubManager() {
        return newSubManager(device);
    }

    /**
     * Makes a manager for a device. Closing this manager also closes the new one. Arrays on different devices
     * cannot be used together: {@link NDArray#toDevice} copies them.
     *
     * @param device the device of the new manager's arrays
     * @return a manager with the same options, which the caller may close
     * @throws HeedException with {@link Status#DEVICE_UNAVAILABLE} and what to do if the device cannot be used
     */
    public NDManager newSubManager(Device device) {
        return newSubManager(Objects.requireNonNull(device, "device"), null);
    }

    /**
     * Returns the manager that this one was made from.
     *
     * @return the manager, or null for a base manager
     */
    public NDManager getParentManager() {
        return parent;
    }

    /**
     * Returns the device of the manager's arrays.
     *
     * @return the device
     */
    public Device getDevice() {
        return device;
    }

    /**
     * Tells whether the manager can still be used.
     *
     * @return false once it is closed
     */
    public boolean isOpen() {
        return registry == null || registry.isOpen();
    }

    /**
     * Closes the manager and everything that belongs to it. Arrays that a call on another thread uses are freed after
     * that call. Closing twice does nothing.
     */
    @Override
    public void close() {
        if (registry != null) {
            registry.close();
        }
        if (cleanable != null) {
            cleanable.clean();
        }
    }

    // ---- Arrays of given elements -----------------------------------------------------------------------------------

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
     * Makes a scalar.
     *
     * @param data its value
     * @return a FLOAT64 array of shape ()
     */
    public NDArray create(double data) {
        return create(new double[] {data}, new Shape());
    }

    /**
     * Makes a scalar.
     *
     * @param data its value
     * @return an INT32 array of shape ()
     */
    public NDArray create(int data) {
        return create(new int[] {data}, new Shape());
    }

    /**
     * Makes a scalar.
     *
     * @param data its value
     * @return an INT64 array of shape ()
     */
    public NDArray create(long data) {
        return create(new long[] {data}, new Shape());
    }

    /**
     * Makes a scalar.
     *
     * @param data its value
     * @return an INT8 array of shape ()
     */
    public NDArray create(byte data) {
        return create(new byte[] {data}, new Shape());
    }

    /**
     * Makes a scalar.
     *
     * @param data its value
     * @return a BOOLEAN array of shape ()
     */
    public NDArray create(boolean data) {
        return create(new boolean[] {data}, new Shape());
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
        return maker.copied(data.length, shape, DataType.FLOAT32, tensor -> tensor.write(data));
    }

    /**
     * Makes an array of one axis.
     *
     * @param data the elements, which are copied
     * @return a FLOAT64 array of shape (data.length)
     */
    public NDArray create(double[] data) {
        Objects.requireNonNull(data, "data");
        return create(data, new Shape(data.length));
    }

    /**
     * Makes an array.
     *
     * @param data the elements in row-major order, which are copied
     * @param shape a shape with as many elements
     * @return a FLOAT64 array of that shape
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray create(double[] data, Shape shape) {
        Objects.requireNonNull(data, "data");
        return maker.copied(data.length, shape, DataType.FLOAT64, tensor -> tensor.write(data));
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
        return maker.copied(data.length, shape, DataType.INT32, tensor -> tensor.write(data));
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
        return maker.copied(data.length, shape, DataType.INT64, tensor -> tensor.write(data));
    }

    /**
     * Makes an array of one axis.
     *
     * @param data the elements, which are copied
     * @return an INT8 array of shape (data.length)
     */
    public NDArray create(byte[] data) {
        Objects.requireNonNull(data, "data");
        return create(data, new Shape(data.length));
    }

    /**
     * Makes an array.
     *
     * @param data the elements in row-major order, which are copied
     * @param shape a shape with as many elements
     * @return an INT8 array of that shape
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray create(byte[] data, Shape shape) {
        Objects.requireNonNull(data, "data");
        return maker.copied(data.length, shape, DataType.INT8, tensor -> tensor.write(data));
    }

    /**
     * Makes an array of one axis.
     *
     * @param data the elements, which are copied
     * @return a BOOLEAN array of shape (data.length)
     */
    public NDArray create(boolean[] data) {
        Objects.requireNonNull(data, "data");
        return create(data, new Shape(data.length));
    }

    /**
     * Makes an array.
     *
     * @param data the elements in row-major order, which are copied
     * @param shape a shape with as many elements
     * @return a BOOLEAN array of that shape
     * @throws IllegalArgumentException if the shape has another number of elements
     */
    public NDArray create(boolean[] data, Shape shape) {
        Objects.requireNonNull(data, "data");
        return maker.copied(data.length, shape, DataType.BOOLEAN, tensor -> tensor.write(data));
    }

    /**
     * Makes an array with two axes.
     *
     * @param data the rows, which are copied
     * @return a FLOAT32 array of shape (data.length, length of a row)
     * @throws IllegalArgumentException if the rows differ in length
     */
    public NDArray create(float[][] data) {
        return maker.ofRows(Objects.requireNonNull(data, "data"));
    }

    /**
     * Makes an array with a copy of the elements between a buffer's position and limit. The buffer may be on the heap,
     * direct or read-only, and have either byte order. Its position does not change.
     *
     * @param data a FloatBuffer (FLOAT32), DoubleBuffer (FLOAT64), IntBuffer (INT32), LongBuffer (INT64) or ByteBuffer
     *     (INT8)
     * @param shape a shape with as many elements
     * @return an array of that type and shape
     * @throws IllegalArgumentException if it is a buffer of another class, or the shape has another number of elements
     */
    public NDArray create(Buffer data, Shape shape) {
        return create(data, shape, Buffers.typeOf(Objects.requireNonNull(data, "data")));
    }

    /**
     * Makes an array with a copy of the elements between a buffer's position and limit. The buffer may be on the heap,
     * direct or read-only, and have either byte order. Its position does not change.
     *
     * @param data a buffer of that type (a ShortBuffer for FLOAT16 and BFLOAT16), or a ByteBuffer, which can hold
     *     elements of any type in its byte order
     * @param shape a shape with as many elements
     * @param dataType the type of the elements
     * @return an array of that type and shape
     * @throws IllegalArgumentException if it is a buffer of another class, or the shape has another number of elements
     */
    public NDArray create(Buffer data, Shape shape, DataType dataType) {
        return maker.copied(data, shape, dataType);
    }

    /**
     * Makes an array that uses the memory of a direct buffer, between its position and its limit, without a copy: what
     * is written to one is read from the other. The array, its views and running calls keep the buffer's memory alive.
     * The memory of an arena or of a mapped file must not be released before they are closed. The buffer's position
     * does not change.
     *
     * @param data a writable direct buffer in native byte order: a FloatBuffer (FLOAT32), DoubleBuffer (FLOAT64),
     *     IntBuffer (INT32), LongBuffer (INT64) or ByteBuffer (INT8); {@link #allocateDirect} makes them
     * @param shape a shape with as many elements
     * @return an array of that type and shape
     * @throws IllegalArgumentException if it is another buffer, the shape has another number of elements, or the
     *     address of the first element is not a multiple of its size; {@link #create(Buffer, Shape)} copies any buffer
     * @throws UnsupportedOperationException if the manager is not for the CPU
     */
    public NDArray wrap(Buffer data, Shape shape) {
        return wrap(data, shape, Buffers.typeOf(Objects.requireNonNull(data, "data")));
    }

    /**
     * Makes an array that uses the memory of a direct buffer, between its position and its limit, without a copy: what
     * is written to one is read from the other. The array, its views and running calls keep the buffer's memory alive.
     * The memory of an arena or of a mapped file must not be released before they are closed. The buffer's position
     * does not change.
     *
     * @param data a writable direct buffer in native byte order, of that type (a ShortBuffer for FLOAT16 and BFLOAT16),
     *     or a ByteBuffer, which can hold elements of any type; {@link #allocateDirect} makes them
     * @param shape a shape with as many elements
     * @param dataType the type of the elements
     * @return an array of that type and shape
     * @throws IllegalArgumentException if it is another buffer, the shape has another number of elements, or the
     *     address of the first element is not a multiple of its size; {@link #create(Buffer, Shape, DataType)} copies
     *     any buffer
     * @throws UnsupportedOperationException if the manager is not for the CPU
     */
    public NDArray wrap(Buffer data, Shape shape, DataType dataType) {
        return maker.over(data, shape, dataType);
    }

    /**
     * Makes a direct buffer for {@link #wrap}. The garbage collector frees it.
     *
     * @param capacity the number of bytes
     * @return a buffer of zeros in native byte order
     * @throws IllegalArgumentException if capacity is negative
     */
    public ByteBuffer allocateDirect(int capacity) {
        openContext();
        return Buffers.direct(capacity);
    }

    /**
     * Reads one array of a .safetensors file.
     *
     * @param path the file
     * @param name the name of the array in the file
     * @return an array of the file's type and shape
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it does
     *     not have the format, {@link Status#NOT_FOUND} if it has no array of that name
     */
    public NDArray load(Path path, String name) {
        ByteBuffer file = NativeText.of(path);
        ByteBuffer tensor = NativeText.of(name, "name");
        return adopt(NativeTensor.loadSafetensors(openContext(), file, tensor));
    }

    /**
     * Reads the array of a .npy file, NumPy's format.
     *
     * @param path the file
     * @return an array of the file's type and shape
     * @throws UnsupportedOperationException if its elements are big-endian, or have a type that heed does not have
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it does
     *     not have the format
     */
    public NDArray load(Path path) {
        return adopt(NativeTensor.loadNpy(openContext(), NativeText.of(path)));
    }

    // ---- Arrays of one value, of a sequence, of random numbers ------------------------------------------------------

    /**
     * Makes an array of zeros.
     *
     * @param shape its shape
     * @return a FLOAT32 array
     */
    public NDArray create(Shape shape) {
        return zeros(shape);
    }

    /**
     * Makes an array of zeros.
     *
     * @param shape its shape
     * @param dataType the type of its elements
     * @return an array of that type
     */
    public NDArray create(Shape shape, DataType dataType) {
        return zeros(shape, dataType);
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
        return maker.filled(shape, dataType, tensor -> {});
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
        return maker.filled(shape, dataType, tensor -> tensor.fill(1));
    }

    /**
     * Makes an array whose elements all have the same value.
     *
     * @param shape its shape
     * @param value the value of every element
     * @return a FLOAT32 array
     */
    public NDArray full(Shape shape, float value) {
        return full(shape, value, DataType.FLOAT32);
    }

    /**
     * Makes an array whose elements all have the same value.
     *
     * @param shape its shape
     * @param value the value of every element, converted to the type
     * @param dataType the type of its elements
     * @return an array of that type
     */
    public NDArray full(Shape shape, float value, DataType dataType) {
        return maker.filled(shape, dataType, tensor -> tensor.fill(value));
    }

    /**
     * Makes an array of 0, 1, 2 and so on.
     *
     * @param stop the bound that all numbers are below
     * @return an INT32 array of one axis, empty if stop is not above 0
     */
    public NDArray arange(int stop) {
        return maker.sequence(0, stop, 1, DataType.INT32);
    }

    /**
     * Makes an array of 0, 1, 2 and so on.
     *
     * @param stop the bound that all numbers are below
     * @return a FLOAT32 array of one axis, empty if stop is not above 0
     * @throws IllegalArgumentException if stop is not finite
     */
    public NDArray arange(float stop) {
        return arange(0f, stop);
    }

    /**
     * Makes an array of start, start + 1, start + 2 and so on.
     *
     * @param start the first number
     * @param stop the bound that all numbers are below
     * @return an INT32 array of one axis, empty if stop is not above start
     */
    public NDArray arange(int start, int stop) {
        return arange(start, stop, 1);
    }

    /**
     * Makes an array of start, start + step, start + 2 * step and so on.
     *
     * @param start the first number
     * @param stop the bound, which is not in the array
     * @param step the difference between neighbours, which may be negative
     * @return an INT32 array of one axis with ceil((stop - start) / step) elements, empty if that is negative
     * @throws IllegalArgumentException if step is 0
     */
    public NDArray arange(int start, int stop, int step) {
        return arange(start, stop, step, DataType.INT32);
    }

    /**
     * Makes an array of start, start + step, start + 2 * step and so on.
     *
     * @param start the first number
     * @param stop the bound, which is not in the array
     * @param step the difference between neighbours, which may be negative
     * @param dataType the type of the elements, to which each is converted
     * @return an array of one axis with ceil((stop - start) / step) elements, empty if that is negative
     * @throws IllegalArgumentException if step is 0
     */
    public NDArray arange(int start, int stop, int step, DataType dataType) {
        Objects.requireNonNull(dataType, "dataType");
        openContext();
        if (step == 0) {
            throw new IllegalArgumentException("step is 0, expected another number");
        }
        return maker.sequence(start, stop, step, dataType);
    }

    /**
     * Makes an array of start, start + 1, start + 2 and so on.
     *
     * @param start the first number
     * @param stop the bound that all numbers are below
     * @return a FLOAT32 array of one axis, empty if stop is not above start
     * @throws IllegalArgumentException if an argument is not finite
     */
    public NDArray arange(float start, float stop) {
        return arange(start, stop, 1);
    }

    /**
     * Makes an array of start, start + step, start + 2 * step and so on.
     *
     * @param start the first number
     * @param stop the bound, which is not in the array
     * @param step the difference between neighbours, which may be negative
     * @return a FLOAT32 array of one axis with ceil((stop - start) / step) elements, empty if that is negative
     * @throws IllegalArgumentException if an argument is not finite, or step is 0
     */
    public NDArray arange(float start, float stop, float step) {
        return arange(start, stop, step, DataType.FLOAT32);
    }

    /**
     * Makes an array of start, start + step, start + 2 * step and so on.
     *
     * @param start the first number
     * @param stop the bound, which is not in the array
     * @param step the difference between neighbours, which may be negative
     * @param dataType the type of the elements, to which each is converted
     * @return an array of one axis with ceil((stop - start) / step) elements, empty if that is negative
     * @throws IllegalArgumentException if an argument is not finite, or step is 0
     */
    public NDArray arange(float start, float stop, float step, DataType dataType) {
        return maker.sequence(start, stop, step, dataType);
    }

    /**
     * Makes an array of random numbers, uniformly distributed between two bounds.
     *
     * @param low the lower bound, inclusive
     * @param high the upper bound, exclusive
     * @param shape its shape
     * @return a FLOAT32 array
     * @throws IllegalArgumentException if a bound is not finite, or low is above high
     */
    public NDArray randomUniform(float low, float high, Shape shape) {
        return randomUniform(low, high, shape, DataType.FLOAT32);
    }

    /**
     * Makes an array of random numbers, uniformly distributed between two bounds. {@link #setSeed} repeats them.
     *
     * @param low the lower bound, inclusive
     * @param high the upper bound, exclusive
     * @param shape its shape
     * @param dataType the type of its elements; for integers, the numbers are truncated towards 0
     * @return an array of that type
     * @throws IllegalArgumentException if a bound is not finite, low is above high, or the type has no number between
     *     them
     */
    public NDArray randomUniform(float low, float high, Shape shape, DataType dataType) {
        return maker.filled(
                shape, dataType, tensor -> tensor.fillUniform(low, high, contexts.nextSeed.getAndIncrement()));
    }

    /**
     * Makes an array of random numbers of the standard normal distribution. {@link #setSeed} repeats them.
     *
     * @param shape its shape
     * @return a FLOAT32 array
     */
    public NDArray randomNormal(Shape shape) {
        return randomNormal(shape, DataType.FLOAT32);
    }

    /**
     * Makes an array of random numbers of the standard normal distribution. {@link #setSeed} repeats them.
     *
     * @param shape its shape
     * @param dataType the type of its elements
     * @return an array of that type
     */
    public NDArray randomNormal(Shape shape, DataType dataType) {
        return randomNormal(0, 1, shape, dataType);
    }

    /**
     * Makes an array of random numbers of a normal distribution. {@link #setSeed} repeats them.
     *
     * @param loc the mean
     * @param scale the standard deviation
     * @param shape its shape
     * @param dataType the type of its elements
     * @return an array of that type
     * @throws IllegalArgumentException if loc or scale is not finite, or scale is negative
     */
    public NDArray randomNormal(float loc, float scale, Shape shape, DataType dataType) {
        return maker.filled(
                shape, dataType, tensor -> tensor.fillNormal(loc, scale, contexts.nextSeed.getAndIncrement()));
    }

    /**
     * Sets the seed of the random numbers of this manager, of its base manager and of all sub-managers of that. The
     * same seed gives the same numbers in the same calls. Each base manager begins with a different seed; the first one
     * of a process always has the same one.
     *
     * @param seed any number
     */
    public void setSeed(long seed) {
        openContext();
        contexts.nextSeed.set(seed);
    }

    // ---- The device -------------------------------------------------------------------------------------------------

    /**
     * Makes scratch memory for calls of blocks.
     *
     * @param numBytes the size, which may be 0; a block's workspaceSize tells how many bytes it needs
     * @return a workspace; closing the manager also closes it
     * @throws IllegalArgumentException if numBytes is negative
     */
    public Workspace newWorkspace(long numBytes) {
        if (numBytes < 0) {
            throw new IllegalArgumentException("numBytes is " + numBytes + ", expected 0 or more");
        }
        NativeWorkspace workspace = NativeWorkspace.create(openContext(), numBytes);
        own(workspace);
        return new Workspace(workspace, numBytes);
    }

    /**
     * Waits until the device has done all its work, and throws, once, an error that occurred meanwhile. On the CPU all
     * work is done when a call returns.
     *
     * @throws HeedException with {@link Status#DEVICE_LOST} if the device failed
     */
    public void synchronize() {
        openContext().synchronize();
    }

    /**
     * Frees the scratch memory that heed keeps for later calls and that no call uses. Without a {@link Workspace},
     * heed keeps as much memory as its largest call took, once for each call that ran at the same time. May be
     * called at any time, from any thread; later calls allocate memory again. All managers below the same base manager
     * share this memory.
     *
     * @throws HeedException with {@link Status#DEVICE_LOST} if the device failed
     */
    public void trim() {
        openContext().trim();
    }

    /**
     * Describes the device and the options that apply.
     *
     * @return a JSON object with the members device, device_index, num_threads, strict, allow_reduced_precision and
     *     others
     */
    public String describe() {
        return NativeText.from(openContext()::describe);
    }

    @Override
    public String toString() {
        return isOpen() ? "NDManager " + device : "NDManager (closed)";
    }

    // ---- For this package -------------------------------------------------------------------------------------------

    NativeContext openContext() {
        if (!isOpen()) {
            throw new IllegalStateException(CLOSED);
        }
        return context;
    }

    /** The context, the device and the options of the manager's arrays, for blocks. */
    LayerContext layerContext() {
        return new LayerContext(openContext(), device, contexts.options);
    }

    ContextOptions options() {
        return contexts.options;
    }

    /** Makes this manager the owner of a new native object. If the manager is closed, the object is closed. */
    void own(NativeHandle handle) {
        try {
            attach(handle);
        } catch (IllegalStateException error) {
            handle.close();
            throw error;
        }
    }

    /** Makes this manager the owner of a native object, instead of its present owner. */
    void attach(NativeHandle handle) {
        if (registry == null) {
            handle.detach();
        } else if (!handle.attach(registry)) {
            throw new IllegalStateException(CLOSED);
        }
    }

    NDArray adopt(NativeTensor tensor) {
        own(tensor);
        return new NDArray(this, tensor);
    }

    /** A manager for the same device that owns nothing. */
    NDManager unmanaged() {
        return registry == null ? this : new NDManager(contexts.unmanaged(), device, null, null, null);
    }

    /** The manager of copies of this manager's arrays on a device: this manager, or one that is closed with it. */
    NDManager on(Device wanted) {
        return wanted.equals(device) ? this : home.elsewhere(wanted);
    }

    /**
     * A context in host memory. Elements are copied through it between Java arrays and another device: while an array
     * is pinned, the garbage collector may have to wait, and it must not have to wait for a device.
     */
    NativeContext hostContext() {
        return device.isCpu() ? openContext() : Library.context();
    }

    // ---- Inside -----------------------------------------------------------------------------------------------------

    private NDManager newSubManager(Device wanted, NDManager home) {
        openContext();
        NDManager manager = new NDManager(contexts, wanted, this, new Registry(registry), home);
        manager.openContext();
        return manager;
    }

    private NDManager elsewhere(Device wanted) {
        if (wanted.equals(device)) {
            return this;
        }
        if (registry == null) {
            return new NDManager(contexts, wanted, null, null, this);
        }
        synchronized (elsewhere) {
            NDManager manager = elsewhere.get(wanted);
            if (manager == null || !manager.isOpen()) {
                manager = newSubManager(wanted, this);
                elsewhere.put(wanted, manager);
            }
            return manager;
        }
    }
}
