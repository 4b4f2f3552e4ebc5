// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** How a base manager uses its device. Immutable; made by {@link #builder()}. */
public final class ContextOptions {
    static final ContextOptions DEFAULTS = builder().build();

    private final int numThreads;
    private final boolean strict;
    private final boolean allowReducedPrecision;
    private final boolean flushSubnormals;

    private ContextOptions(Builder builder) {
        numThreads = builder.numThreads;
        strict = builder.strict;
        allowReducedPrecision = builder.allowReducedPrecision;
        flushSubnormals = builder.flushSubnormals;
    }

    /**
     * Returns a builder with the default options.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns the number of threads that compute.
     *
     * @return the number; 0, the default, means as many as the process may use
     */
    public int getNumThreads() {
        return numThreads;
    }

    /**
     * Tells whether a call that would not take the fastest path fails.
     *
     * @return false by default
     */
    public boolean isStrict() {
        return strict;
    }

    /**
     * Tells whether FLOAT32 may be computed in 16 bits on devices that have nothing wider.
     *
     * @return false by default
     */
    public boolean isAllowReducedPrecision() {
        return allowReducedPrecision;
    }

    /**
     * Tells whether the CPU takes subnormal numbers as 0.
     *
     * @return false by default
     */
    public boolean isFlushSubnormals() {
        return flushSubnormals;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ContextOptions
                && numThreads == ((ContextOptions) other).numThreads
                && strict == ((ContextOptions) other).strict
                && allowReducedPrecision == ((ContextOptions) other).allowReducedPrecision
                && flushSubnormals == ((ContextOptions) other).flushSubnormals;
    }

    @Override
    public int hashCode() {
        return numThreads * 8 + (strict ? 4 : 0) + (allowReducedPrecision ? 2 : 0) + (flushSubnormals ? 1 : 0);
    }

    @Override
    public String toString() {
        return "ContextOptions(numThreads=" + numThreads + ", strict=" + strict + ", allowReducedPrecision="
                + allowReducedPrecision + (flushSubnormals ? ", flushSubnormals=true)" : ")");
    }

    void fill(NativeContextOptions members) {
        members.setNumThreads(numThreads);
        members.setStrict(strict ? 1 : 0);
        members.setAllowReducedPrecision(allowReducedPrecision ? 1 : 0);
        members.setFlushSubnormals(flushSubnormals ? 1 : 0);
    }

    /** Collects options. Not thread-safe. */
    public static final class Builder {
        private int numThreads;
        private boolean strict;
        private boolean allowReducedPrecision;
        private boolean flushSubnormals;

        private Builder() {}

        /**
         * Sets the number of threads that compute. It never changes a result.
         *
         * @param numThreads the number, at most 1024; 0, the default, means as many as the process may use. A number
         *     out of range is refused when a manager is made
         * @return this builder
         */
        public Builder optNumThreads(int numThreads) {
            this.numThreads = numThreads;
            return this;
        }

        /**
         * Sets whether a call that would not take the fastest path fails.
         *
         * @param strict true: such a call throws HeedException with {@link Status#NOT_FASTEST} and the reason; false,
         *     the default: it runs
         * @return this builder
         */
        public Builder optStrict(boolean strict) {
            this.strict = strict;
            return this;
        }

        /**
         * Sets whether FLOAT32 may be computed in 16 bits on devices that have nothing wider. The CPU never needs it.
         *
         * @param allowReducedPrecision true: it may be; false, the default: such a call throws
         *     UnsupportedOperationException
         * @return this builder
         */
        public Builder optAllowReducedPrecision(boolean allowReducedPrecision) {
            this.allowReducedPrecision = allowReducedPrecision;
            return this;
        }

        /**
         * Sets whether the CPU takes subnormal numbers as 0: magnitudes below 2^-126 of FLOAT32 and BFLOAT16, those that it
         * reads and those that would be results. Numbers of FLOAT16 are never flushed.
         *
         * @param flushSubnormals true: they count as 0; false, the default: they are kept, which makes a block with such
         *     weights some 200 times slower
         * @return this builder
         */
        public Builder optFlushSubnormals(boolean flushSubnormals) {
            this.flushSubnormals = flushSubnormals;
            return this;
        }

        /**
         * Makes the options.
         *
         * @return the options that were set
         */
        public ContextOptions build() {
            return new ContextOptions(this);
        }
    }
}
