// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Gradients that calls of backward add to, and that {@link GradientCollector#zeroGradients} sets to 0. */
interface GradientSum {
    /** Sets the gradients to 0. */
    void zero();
}
