// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A sliding window: a query at position p attends only to keys p - left to p + right, where a negative number is no
 * limit. The alignment says what the position of a query is.
 */
public enum Window {
    /** There is no window. */
    NONE(0),
    /** The position of query i is i. */
    TOP_LEFT(1),
    /** The position of query i is i + K - Q: the last query has the position of the last key. */
    BOTTOM_RIGHT(2);

    /** The number in heed.h. */
    final int code;

    Window(int code) {
        this.code = code;
    }
}
