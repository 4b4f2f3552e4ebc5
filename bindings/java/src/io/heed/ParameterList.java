// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Parameters and their names, in order. */
public final class ParameterList extends PairList<String, Parameter> {
    /** Makes an empty list. */
    public ParameterList() {}

    /**
     * Makes an empty list.
     *
     * @param initialCapacity how many parameters it has room for before it grows
     */
    public ParameterList(int initialCapacity) {
        super(initialCapacity);
    }
}
