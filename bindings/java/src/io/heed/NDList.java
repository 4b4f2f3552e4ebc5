// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Objects;

/**
 * A list of arrays: what a block takes and gives. Elements may be null where the block says so. Not for several threads
 * at once.
 */
public final class NDList extends ArrayList<NDArray> implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    /** Makes an empty list. */
    public NDList() {}

    /**
     * Makes an empty list with room.
     *
     * @param initialCapacity for how many arrays
     * @throws IllegalArgumentException if it is negative
     */
    public NDList(int initialCapacity) {
        super(initialCapacity);
    }

    /**
     * Makes a list.
     *
     * @param arrays its elements
     */
    public NDList(NDArray... arrays) {
        super(Arrays.asList(Objects.requireNonNull(arrays, "arrays")));
    }

    /**
     * Makes a list.
     *
     * @param other its elements
     */
    public NDList(Collection<NDArray> other) {
        super(Objects.requireNonNull(other, "other"));
    }

    /**
     * Returns the first array that has a name.
     *
     * @param name the name, as {@link NDArray#setName} gave it
     * @return the array, null if none has the name
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
     * Adds the arrays of another list at the end.
     *
     * @param other the other list
     * @return this list
     */
    public NDList addAll(NDList other) {
        super.addAll(Objects.requireNonNull(other, "other"));
        return this;
    }

    /**
     * Makes a list of the arrays from one on.
     *
     * @param fromIndex the first, from 0
     * @return a new list
     * @throws IndexOutOfBoundsException if the list has not so many
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
        return stream().map(array -> array == null ? null : array.getShape()).toArray(Shape[]::new);
    }

    /**
     * Copies the arrays to a device, as {@link NDArray#toDevice} does each.
     *
     * @param device the device
     * @param copy whether to copy arrays even if they are on that device
     * @return a new list, null where an element is null
     * @throws IllegalStateException if an array is closed
     * @throws HeedException with {@link Status#DEVICE_UNAVAILABLE} and what to do if the device cannot be used
     */
    public NDList toDevice(Device device, boolean copy) {
        Objects.requireNonNull(device, "device");
        NDList copies = new NDList(size());
        for (NDArray array : this) {
            copies.add(array == null ? null : array.toDevice(device, copy));
        }
        return copies;
    }

    /**
     * Gives the arrays to a manager, which closes them with itself.
     *
     * @param manager the new owner
     * @throws IllegalArgumentException if an array is on another device than the manager's
     * @throws IllegalStateException if the manager or an array is closed; arrays before that one have been attached
     */
    public void attach(NDManager manager) {
        Objects.requireNonNull(manager, "manager");
        for (NDArray array : this) {
            if (array != null) {
                array.attach(manager);
            }
        }
    }

    /**
     * Takes the arrays from their managers: the caller closes them.
     *
     * @throws IllegalStateException if an array is closed; arrays before that one have been detached
     */
    public void detach() {
        for (NDArray array : this) {
            if (array != null) {
                array.detach();
            }
        }
    }

    /** Closes the arrays; the list keeps them. */
    @Override
    public void close() {
        for (NDArray array : this) {
            if (array != null) {
                array.close();
            }
        }
    }
}
