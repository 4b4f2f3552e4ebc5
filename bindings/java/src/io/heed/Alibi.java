// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Attention with linear biases (Press et al., 2022) as an option of a block, with the slopes of the paper. */
public enum Alibi {
    /** No bias. */
    NONE(0),
    /** Added to the scaled scores, as in the paper: Bloom, MPT. */
    ADDED(1),
    /** Multiplied by the scale and then added, with slopes rounded to BFLOAT16: Falcon. */
    SCALED(2);

    /** The number in heed.h. */
    final int code;

    Alibi(int code) {
        this.code = code;
    }
}
