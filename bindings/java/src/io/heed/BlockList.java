// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Blocks and their names, in order. */
public final class BlockList extends PairList<String, Block> {
    /** Makes an empty list. */
    public BlockList() {}

    /**
     * Makes an empty list.
     *
     * @param initialCapacity how many blocks it has room for before it grows
     */
    public BlockList(int initialCapacity) {
        super(initialCapacity);
    }
}
