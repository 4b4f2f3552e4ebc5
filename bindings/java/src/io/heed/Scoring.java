// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** How multi-head attention scores a key for a query. */
public enum Scoring {
    /** The dot product of query and key, times the scale. */
    DOT_PRODUCT(0),
    /** The dot product of w_v and tanh(query + key), times the scale. */
    ADDITIVE(1);

    /** The number in heed.h. */
    final int code;

    Scoring(int code) {
        this.code = code;
    }
}
