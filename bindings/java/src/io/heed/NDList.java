// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * A list of arrays: the inputs or the outputs of a block. Elements may be null if the block allows it. Not thread-safe.
 */
public final class NDList extends ArrayList<NDArray> implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    /** Makes an empty list. */
    public NDList() {}

    /**
     * Makes an empty list with an initial capacity.
     *
     * @param initialCapacity the number of arrays that it has room for before it grows
     * @throws IllegalArgumentException if it is negative
     */
    public NDList(int initialCapacity) {
        super(initialCapacity);
    }

    /**
     * Makes a list.
     *
     * @param arrays the elements of the list
     */
    public NDList(NDArray... arrays) {
        super(Arrays.asList(Objects.requireNonNull(arrays, "arrays")));
    }

    /**
     * Makes a list.
     *
     * @param other the elements of the list
     */
    public NDList(Collection<NDArray> other) {
        super(Objects.requireNonNull(other, "other"));
    }

    /**
     * Reads a list that {@link #encode()}, or DJL's method of that name, has written: versions 1 to 3 of the format.
     *
     * @param manager the manager of the arrays
     * @param byteArray the bytes of one list
     * @return a new list of new arrays, with their names
     * @throws IllegalArgumentException if the bytes are truncated, are more than one list, or are no list; the message
     *     has the position
     * @throws UnsupportedOperationException if an array is sparse, or has a type that heed does not have
     * @throws IllegalStateException if the manager is closed
     */
    public static NDList decode(NDManager manager, byte[] byteArray) {
        Objects.requireNonNull(manager, "manager");
        ByteArrayInputStream in = new ByteArrayInputStream(Objects.requireNonNull(byteArray, "byteArray"));
        NDList list = decode(manager, in);
        if (in.available() > 0) {
            list.close();
            throw new IllegalArgumentException(
                    "byteArray has " + in.available() + " bytes after its list, expected none");
        }
        return list;
    }

    /**
     * Reads a list that {@link #encode(OutputStream)}, or DJL's method of that name, has written: versions 1 to 3 of
     * the format.
     *
     * @param manager the manager of the arrays
     * @param is the stream to read from. What follows the list is not read, and the stream stays open
     * @return a new list of new arrays, with their names
     * @throws IllegalArgumentException if the stream ends within the list, or has no list; the message has the position
     * @throws UnsupportedOperationException if an array is sparse, or has a type that heed does not have
     * @throws IllegalStateException if the manager is closed
     * @throws UncheckedIOException if the stream fails
     */
    public static NDList decode(NDManager manager, InputStream is) {
        Objects.requireNonNull(manager, "manager");
        Objects.requireNonNull(is, "is");
        try {
            return EncodedList.read(manager, is);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /**
     * Encodes the arrays, with their names, in DJL's format. DJL's {@code NDList.decode} can read it.
     *
     * @return new bytes
     * @throws IllegalStateException if an array is null or closed, or has more than 2147483647 bytes
     * @throws OutOfMemoryError if there are more bytes than a Java array can hold; {@link #encode(OutputStream)} has no
     *     such limit
     * @throws UncheckedIOException if a name takes more than 65535 bytes
     */
    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            encode(bytes);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return bytes.toByteArray();
    }

    /**
     * Writes the arrays, with their names, in DJL's format. DJL's {@code NDList.decode} can read it.
     *
     * @param os the stream to write to; it is flushed and stays open
     * @throws IOException if the stream fails, or a name takes more than 65535 bytes
     * @throws IllegalStateException if an array is null or closed, in which case nothing is written, or has more than
     *     2147483647 bytes
     */
    public void encode(OutputStream os) throws IOException {
        EncodedList.write(this, Objects.requireNonNull(os, "os"));
    }

    /**
     * Tells whether an array has a given name.
     *
     * @param name the name, as set by {@link NDArray#setName}
     * @return true if one of the arrays has it
     */
    public boolean contains(String name) {
        return get(name) != null;
    }

    /**
     * Removes the first array with this name from the list and returns it. The array stays open.
     *
     * @param name the name, as set by {@link NDArray#setName}
     * @return the array, or null if none has the name
     */
    public NDArray remove(String name) {
        NDArray found = get(name);
        if (found != null) {
            remove(found);
        }
        return found;
    }

    /**
     * Returns the manager of the first array.
     *
     * @return the manager, which may be closed
     * @throws IndexOutOfBoundsException if the list has no array
     */
    public NDManager getManager() {
        for (NDArray array : this) {
            if (array != null) {
                return array.getManager();
            }
        }
        throw new IndexOutOfBoundsException("the list has no array, and so no manager");
    }

    /**
     * Returns the first array that has a name.
     *
     * @param name the name, as set by {@link NDArray#setName}
     * @return the array, or null if none has the name
     */
    public NDArray get(String name) {
        Objects.requireNonNull(name, "name");
        for (NDArray array : this) {
            if (array != null && name.equals(array.getName())) {
                return array;
            }
        }
        return null;
    }

    /**
     * Returns the first array.
     *
     * @return element 0
     * @throws IndexOutOfBoundsException if the list is empty
     */
    public NDArray head() {
        return get(0);
    }

    /**
     * Returns the only array.
     *
     * @return element 0
     * @throws IndexOutOfBoundsException if the list has no element or more than one
     */
    public NDArray singletonOrThrow() {
        if (size() != 1) {
            throw new IndexOutOfBoundsException("the list has " + size() + " arrays, expected 1");
        }
        return get(0);
    }

    /**
     * Appends the arrays of another list.
     *
     * @param other the other list
     * @return this list
     */
    public NDList addAll(NDList other) {
        super.addAll(Objects.requireNonNull(other, "other"));
        return this;
    }

    /**
     * Makes a list of the arrays from an index on.
     *
     * @param fromIndex the index of the first array, from 0
     * @return a new list
     * @throws IndexOutOfBoundsException if the list has fewer arrays
     */
    public NDList subNDList(int fromIndex) {
        return new NDList(subList(Objects.checkIndex(fromIndex, size() + 1), size()));
    }

    /**
     * Returns the shape of each array.
     *
     * @return the shapes, null for a null element
     * @throws IllegalStateException if an array is closed
     */
    public Shape[] getShapes() {
        Shape[] shapes = new Shape[size()];
        Arrays.setAll(shapes, i -> get(i) == null ? null : openArray(i).getShape());
        return shapes;
    }

    /**
     * Copies the arrays to a device, each as {@link NDArray#toDevice} does.
     *
     * @param device the device
     * @param copy whether to copy arrays even if they are already on that device
     * @return a new list, null where an element is null
     * @throws IllegalStateException if an array is closed
     * @throws HeedException with {@link Status#DEVICE_UNAVAILABLE} and what to do if the device cannot be used
     */
    public NDList toDevice(Device device, boolean copy) {
        Objects.requireNonNull(device, "device");
        NDList copies = new NDList(size());
        for (int i = 0; i < size(); i++) {
            copies.add(get(i) == null ? null : openArray(i).toDevice(device, copy));
        }
        return copies;
    }

    /**
     * Moves the arrays to another manager, which closes them when it is closed.
     *
     * @param manager the new owner
     * @throws IllegalArgumentException if an array is on another device than the manager's
     * @throws IllegalStateException if the manager or an array is closed; the arrays before that one have then been
     *     moved
     */
    public void attach(NDManager manager) {
        Objects.requireNonNull(manager, "manager");
        for (int i = 0; i < size(); i++) {
            if (get(i) != null) {
                openArray(i).attach(manager);
            }
        }
    }

    /**
     * Removes the arrays from their managers: the caller has to close them.
     *
     * @throws IllegalStateException if an array is closed; the arrays before that one have then been removed
     */
    public void detach() {
        for (int i = 0; i < size(); i++) {
            if (get(i) != null) {
                openArray(i).detach();
            }
        }
    }

    // ---- as of any list, with the names of null arguments -----------------------------------------------------------

    @Override
    public boolean addAll(Collection<? extends NDArray> collection) {
        return super.addAll(Objects.requireNonNull(collection, "collection"));
    }

    @Override
    public boolean addAll(int index, Collection<? extends NDArray> collection) {
        return super.addAll(index, Objects.requireNonNull(collection, "collection"));
    }

    @Override
    public boolean containsAll(Collection<?> collection) {
        return super.containsAll(Objects.requireNonNull(collection, "collection"));
    }

    @Override
    public boolean removeAll(Collection<?> collection) {
        return super.removeAll(Objects.requireNonNull(collection, "collection"));
    }

    @Override
    public boolean retainAll(Collection<?> collection) {
        return super.retainAll(Objects.requireNonNull(collection, "collection"));
    }

    @Override
    public boolean removeIf(Predicate<? super NDArray> filter) {
        return super.removeIf(Objects.requireNonNull(filter, "filter"));
    }

    @Override
    public void replaceAll(UnaryOperator<NDArray> operator) {
        super.replaceAll(Objects.requireNonNull(operator, "operator"));
    }

    @Override
    public void forEach(Consumer<? super NDArray> action) {
        super.forEach(Objects.requireNonNull(action, "action"));
    }

    /**
     * Sorts the list.
     *
     * @param comparator the order; not null, since arrays have no order of their own
     */
    @Override
    public void sort(Comparator<? super NDArray> comparator) {
        super.sort(Objects.requireNonNull(comparator, "comparator"));
    }

    @Override
    public <T> T[] toArray(T[] array) {
        return super.toArray(Objects.requireNonNull(array, "array"));
    }

    @Override
    public <T> T[] toArray(IntFunction<T[]> generator) {
        return super.toArray(Objects.requireNonNull(generator, "generator"));
    }

    /** Closes the arrays, which stay in the list. */
    @Override
    public void close() {
        for (NDArray array : this) {
            if (array != null) {
                array.close();
            }
        }
    }

    /**
     * Describes the arrays as DJL does.
     *
     * @return a line with the size of the list, and a line for each array with its index, name, shape and type, and
     *     whether it is closed
     */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("NDList size: ").append(size()).append('\n');
        for (int i = 0; i < size(); i++) {
            NDArray array = get(i);
            String name = array == null ? null : array.getName();
            text.append(i).append(' ').append(name == null ? "" : name).append(": ");
            text.append(array == null ? "null" : array.data().description()).append('\n');
        }
        return text.toString();
    }

    /** Returns an element of the list. Throws if it is null or a closed array. */
    NDArray openArray(int index) {
        NDArray array = get(index);
        if (array == null || array.isReleased()) {
            throw new IllegalStateException(
                    "array " + index + " of the list is " + (array == null ? "null" : "closed"));
        }
        return array;
    }
}
