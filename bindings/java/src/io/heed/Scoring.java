// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** How multi-head attention scores a key for a query. */
public enum Scoring {
    /** The product of the two, times the scale. */
    DOT_PRODUCT(0),
    /** w_v times the tangens hyperbolicus of the sum of the two, times the scale. */
    ADDITIVE(1);

    /** heed.h's number. */
    final int code;

    Scoring(int code) {
        this.code = code;
    }
}
