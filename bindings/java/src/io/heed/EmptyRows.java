// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The output of a query that attends to no key. */
public enum EmptyRows {
    /** An output of 0 and weights of 0. */
    ZERO(0),
    /** The mean of all K values, with weights of 1 / K, as in d2l-java. */
    MEAN(1);

    /** The number in heed.h. */
    final int code;

    EmptyRows(int code) {
        this.code = code;
    }
}
