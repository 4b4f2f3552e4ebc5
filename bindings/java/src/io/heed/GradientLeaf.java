// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Where gradients of an array or of a parameter are added up. */
interface GradientLeaf extends GradientSum {
    /** Whether it has a gradient: not while it is frozen. */
    boolean isWanted();

    /** Throws if nothing can be added to its gradient. */
    void check();

    /** Adds a gradient of the same shape and type. */
    void add(NDArray gradient);

    /** The sum of the gradients, which may be written. */
    NDArray gradient();
}
