// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** HEED_REDUCE_... of heed.h, in the order of its numbers. */
enum Reduction {
    SUM,
    MEAN,
    MAX,
    MIN,
    PROD,
    NORM,
    ARG_MAX,
    ARG_MIN
}
