// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Options of a block, of which the block has a copy, since the program may change the builder afterwards.
 *
 * @param <B> the builder
 */
abstract class CopiedOptions<B extends CopiedOptions<B>> implements Cloneable {
    CopiedOptions() {}

    /** The text of a block with these options, which need not be complete. */
    abstract String describe();

    /** The text of options that may be missing. */
    static String textOf(CopiedOptions<?> options) {
        return options == null ? "null" : options.describe();
    }

    /** The class and the options. Not final: javac then lets each public builder have it, where reflection may call it. */
    @Override
    public String toString() {
        return describe().replaceFirst("[(]", ".Builder(");
    }

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
