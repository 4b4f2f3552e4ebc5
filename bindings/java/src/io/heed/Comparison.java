// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** HEED_COMPARE_... of heed.h, in the order of its numbers. */
enum Comparison {
    EQ,
    NEQ,
    LT,
    LTE,
    GT,
    GTE
}
