// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Objects;

/** A list of arrays: what a block takes and gives. Elements may be null where the block says so. */
public final class NDList extends ArrayList<NDArray> implements AutoCloseable {
    private static final long serialVersionUID = 1L;

    /** Makes an empty list. */
    public NDList() {}

    /**
     * Makes a list.
     *
     * @param arrays its elements
     */
    public NDList(NDArray... arrays) {
        super(Arrays.asList(Objects.requireNonNull(arrays, "arrays")));
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
     * Returns the shape of each array.
     *
     * @return the shapes, null for a null element
     */
    public Shape[] getShapes() {
        return stream().map(array -> array == null ? null : array.getShape()).toArray(Shape[]::new);
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
