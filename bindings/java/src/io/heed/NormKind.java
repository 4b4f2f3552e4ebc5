// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The kinds of norm over the last axis: x is a row, g the parameter weight and b the parameter bias. */
public enum NormKind {
    /**
     * (x - mean) / sqrt(variance + epsilon) * g + b, with the mean and the biased variance of the row (Ba et al.,
     * "Layer Normalization", 2016).
     */
    LAYER(0),
    /** x / sqrt(mean of x^2 + epsilon) * g (Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019). */
    RMS(1);

    /** The number in heed.h. */
    final int code;

    NormKind(int code) {
        this.code = code;
    }
}
