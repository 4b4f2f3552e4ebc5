// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** What a call does with the {@link KvCache} of its inputs. */
public enum CacheUse {
    /** The keys and values of the call's rows are appended; then each row attends to all rows of its sequence. */
    APPEND(0),
    /** The rows attend to the rows of their sequence, which stays as it is. Keys and values must be null. */
    READ(1);

    /** The number in heed.h. */
    final int code;

    CacheUse(int code) {
        this.code = code;
    }
}
