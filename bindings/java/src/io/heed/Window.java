// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Whether a query attends only to keys near its position p: those of p - left to p + right, where a negative number is
 * no limit.
 */
public enum Window {
    /** There is no window. */
    NONE(0),
    /** The position of query i is i. */
    TOP_LEFT(1),
    /** The position of query i is i + K - Q: that of the last query is the last key. */
    BOTTOM_RIGHT(2);

    /** heed.h's number. */
    final int code;

    Window(int code) {
        this.code = code;
    }
}
