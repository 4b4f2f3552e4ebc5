// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The projections of multi-head attention that can add a bias. */
public enum Bias {
    /** The queries' projection, W_q. */
    Q(1),
    /** The keys' projection, W_k. */
    K(2),
    /** The values' projection, W_v. */
    V(4),
    /** The output's projection, W_o. */
    O(8);

    /** The bit in heed.h. */
    final int bit;

    Bias(int bit) {
        this.bit = bit;
    }
}
