// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** What a block can write, for the calls that make arrays for it. */
public enum Wanted {
    /** The output. */
    OUTPUT(1),
    /** The attention weights, before dropout. */
    WEIGHTS(2),
    /** The natural logarithm of the sum of each query's exponentiated scores. */
    LOG_SUM_EXP(4);

    /** heed.h's bit. */
    final int bit;

    Wanted(int bit) {
        this.bit = bit;
    }
}
