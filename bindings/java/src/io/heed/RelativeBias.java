// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** T5's relative bias: a number for each head and bucket of distances is added to the score of a query and a key. */
public enum RelativeBias {
    /** No bias. */
    NONE(0),
    /** As in encoders: half of the buckets are for keys up to the query, half for keys after it. */
    BOTH_WAYS(1),
    /** Keys after the query share the bucket of distance 0: decoders. */
    ONE_WAY(2);

    /** The number in heed.h. */
    final int code;

    RelativeBias(int code) {
        this.code = code;
    }
}
