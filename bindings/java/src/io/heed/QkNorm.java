// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The norm of queries and keys, head by head, before rotary positions. */
public enum QkNorm {
    /** Divided by the root of the mean square, with one weight for all heads: Qwen 3, Gemma 3. */
    RMS(0),
    /** A layer norm without bias, with a weight for each head: Cohere. */
    LAYER(1);

    /** The number in heed.h. */
    final int code;

    QkNorm(int code) {
        this.code = code;
    }
}
