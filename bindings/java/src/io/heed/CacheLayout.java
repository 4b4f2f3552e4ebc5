// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Where a {@link KvCache} keeps its rows. The results have the same bits for every layout that keeps the same rows.
 */
public enum CacheLayout {
    /** Each sequence has memory for capacity rows. */
    CONTIGUOUS(0),
    /**
     * Each sequence keeps its last rows: a query attends to itself, to the capacity - 1 rows before it, and to the
     * first numSinks rows.
     */
    RING(1),
    /** The sequences share numPages pages of pageSize rows, and take one when they need it. */
    PAGED(2);

    /** The number in heed.h. */
    final int code;

    CacheLayout(int code) {
        this.code = code;
    }
}
