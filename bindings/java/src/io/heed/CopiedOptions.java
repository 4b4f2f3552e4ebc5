// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Options of a block, of which the block has a copy, since the program may change the builder afterwards.
 *
 * @param <B> the builder
 */
abstract class CopiedOptions<B extends CopiedOptions<B>> implements Cloneable {
    CopiedOptions() {}

    /** Copies the options. Objects among them must be immutable, or copies themselves. */
    @SuppressWarnings("unchecked")
    final B copy() {
        try {
            return (B) clone();
        } catch (CloneNotSupportedException error) {
            throw new AssertionError(error);
        }
    }
}
