// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** A bias of each score by the distance from query to key, in buckets, as T5's. */
public enum RelativeBias {
    /** No bias. */
    NONE(0),
    /** Half of the buckets are for keys after the query: encoders. */
    BOTH_WAYS(1),
    /** Keys after the query share the bucket of distance 0: decoders. */
    ONE_WAY(2);

    /** The number in heed.h. */
    final int code;

    RelativeBias(int code) {
        this.code = code;
    }
}
