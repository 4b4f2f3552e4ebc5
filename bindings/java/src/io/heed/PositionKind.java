// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** What a {@link PositionalEncoding} adds to the row of position p; d is its size, i counts from 0. */
public enum PositionKind {
    /** sin(p / 10000^(2i/d)) and cos(p / 10000^(2i/d)) in turn (Vaswani et al., 2017), as d2l. */
    SINUSOIDAL(0),
    /** All sines of p / 10000^(i / (d/2 - 1)), then all cosines: Whisper, fairseq. */
    SINUSOIDAL_HALVES(1),
    /** Row firstRow + p of a table, the parameter "weight": BERT, GPT-2, OPT, BART. */
    LEARNED(2),
    /** All sines of p / 10000^(2i/d), then all cosines: Marian. */
    SINUSOIDAL_HALVES_2I(3);

    /** The number in heed.h. */
    final int code;

    PositionKind(int code) {
        this.code = code;
    }
}
