// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;
import java.util.function.BiConsumer;

/** How a base manager uses its device. Immutable; made by {@link #builder()}. */
public final class ContextOptions {
    static final ContextOptions DEFAULTS = builder().build();

    private final int numThreads;
    private final boolean strict;
    private final boolean allowReducedPrecision;
    private final boolean flushSubnormals;
    /** Null: messages are dropped. */
    private final MessageSink sink;

    private ContextOptions(Builder builder) {
        numThreads = builder.numThreads;
        strict = builder.strict;
        allowReducedPrecision = builder.allowReducedPrecision;
        flushSubnormals = builder.flushSubnormals;
        sink = builder.logger == null ? null : new MessageSink(builder.logger);
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

    /**
     * Returns what receives heed's messages.
     *
     * @return what was set, of a {@code System.Logger} its log; null, the default: nothing
     */
    public BiConsumer<System.Logger.Level, String> getLogger() {
        return sink == null ? null : sink.logger;
    }

    /**
     * Tells whether all options are equal.
     *
     * @param other any object, or null
     * @return whether it is such options; loggers are equal if they are the same object
     */
    @Override
    public boolean equals(Object other) {
        return other instanceof ContextOptions
                && computesLike((ContextOptions) other)
                && getLogger() == ((ContextOptions) other).getLogger();
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

    /** Whether all options are equal that say how calls compute, which a logger does not. */
    boolean computesLike(ContextOptions other) {
        return numThreads == other.numThreads
                && strict == other.strict
                && allowReducedPrecision == other.allowReducedPrecision
                && flushSubnormals == other.flushSubnormals;
    }

    /** The number of the receiver of messages; 0: there is none. */
    long sinkNumber() {
        return sink == null ? 0 : sink.number;
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
        private BiConsumer<System.Logger.Level, String> logger;

        private Builder() {}

        @Override
        public String toString() {
            return build().toString().replaceFirst("[(]", ".Builder(");
        }

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
         * Sets what receives heed's messages about calls of the manager's arrays and of blocks in its context; without
         * it they are dropped. It is called on the thread of the call that a message is about, at the call's end, before
         * the call returns or throws, and so possibly on many threads at once. While it runs, blocks of the call are in
         * use: it should write the message and return. Messages about calls that it makes itself are dropped, and so is
         * what it throws.
         *
         * @param logger gets the level, ERROR: a call failed, with the name of the C function and the sentence of its
         *     exception; WARNING: a call does not take the fastest path, tensors of a model are not read, and the like;
         *     INFO: a device was opened, a model or a block was loaded; DEBUG: the kernel of each operation; and one line of
         *     text
         * @return this builder
         */
        public Builder optLogger(BiConsumer<System.Logger.Level, String> logger) {
            this.logger = Objects.requireNonNull(logger, "logger");
            return this;
        }

        /**
         * Sets the logger of the platform that receives heed's messages, as {@link #optLogger(BiConsumer)} does. Its
         * configuration says which levels it writes.
         *
         * @param logger such as {@code System.getLogger("io.heed")}
         * @return this builder
         */
        public Builder optLogger(System.Logger logger) {
            return optLogger(Objects.requireNonNull(logger, "logger")::log);
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
