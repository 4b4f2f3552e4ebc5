// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Causal masking. The alignment must be named, because the two alignments differ where Q and K differ. */
public enum Causal {
    /** Queries attend to later keys, too. */
    NONE(0),
    /** Query i attends to key j if j &lt;= i. */
    TOP_LEFT(1),
    /** Query i attends to key j if j &lt;= i + K - Q: the last query attends to all keys. */
    BOTTOM_RIGHT(2);

    /** heed.h's number. */
    final int code;

    Causal(int code) {
        this.code = code;
    }
}
