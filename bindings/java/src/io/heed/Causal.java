// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Causal masking. The alignment has to be named, because the two alignments differ if Q and K differ. */
public enum Causal {
    /** Queries also attend to later keys. */
    NONE(0),
    /** Query i attends to key j if j &lt;= i. */
    TOP_LEFT(1),
    /** Query i attends to key j if j &lt;= i + K - Q: the last query attends to all keys. */
    BOTTOM_RIGHT(2);

    /** The number in heed.h. */
    final int code;

    Causal(int code) {
        this.code = code;
    }
}
