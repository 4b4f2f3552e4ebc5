// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * Positional encoding: adds to each row of its input the row of its position, then drops elements when training.
 * d2l-java's constructor makes the sinusoids of "Attention Is All You Need"; {@link #builder} other kinds as well.
 *
 * <p>forward takes a list of one array (B, S, numHiddens) of FLOAT32, FLOAT16 or BFLOAT16, and gives a list of one
 * array of the same shape and type. Row s has the position s; {@link AttentionInputs#setPositions} sets others. In a
 * packed batch the input is (total, numHiddens) with {@link AttentionInputs#setQueryOffsets}, and positions begin at 0
 * in each element.
 *
 * <p>Only a learned table has a parameter, "weight" (firstRow + maxLen, numHiddens), and must be initialized or loaded.
 * Many threads may call it on one block at the same time; a call that changes the parameters waits for them.
 */
public final class PositionalEncoding extends SingleInputBlock<PositionalEncoding.Builder> {
    /**
     * The rows that are added, FLOAT32 of (1, maxLen, numHiddens), as in d2l-java. It belongs to the constructor's
     * manager, and is a copy: writing to it changes nothing. Null in a block that was made by the builder.
     */
    public final NDArray P;

    /**
     * Makes d2l's positional encoding.
     *
     * @param numHiddens the size of a row
     * @param dropout the probability, from 0 to below 1, that an element is dropped when training
     * @param maxLen how many positions there are
     * @param manager the manager that {@link #P} belongs to
     * @throws IllegalArgumentException if an argument is out of range
     * @throws IllegalStateException if the manager is closed
     */
    public PositionalEncoding(long numHiddens, float dropout, long maxLen, NDManager manager) {
        this(builder().setNumHiddens(numHiddens).setMaxLen(maxLen).optDropout(dropout),
                Objects.requireNonNull(manager, "manager"));
    }

    private PositionalEncoding(Builder options, NDManager manager) {
        super("PositionalEncoding", options);
        construct();
        P = manager == null ? null : rows(manager);
    }

    /** Makes the child of another block. */
    PositionalEncoding(Builder options, ChildLayer.Place place) {
        super("PositionalEncoding", options);
        construct(place);
        P = null;
    }

    /**
     * Begins a positional encoding of any kind.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** The sum of zeros and the rows. */
    private NDArray rows(NDManager manager) {
        try (NDArray zeros = manager.zeros(new Shape(1, options.maxLen, options.numHiddens))) {
            return forward(new ParameterStore(manager, false), new NDList(zeros), false).singletonOrThrow();
        } catch (Throwable error) {
            close();
            throw error;
        }
    }

    /** Makes a positional encoding. */
    public static final class Builder extends LayerOptions<Builder> {
        private long numHiddens;
        private long maxLen;
        private long firstRow;
        private float dropout;
        private PositionKind kind = PositionKind.SINUSOIDAL;

        private Builder() {}

        @Override
        String describe() {
            return "PositionalEncoding(numHiddens=" + numHiddens + ", maxLen=" + maxLen + ", kind=" + kind
                    + ", dropout=" + dropout + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_positional_encoding_create(context, toNative(structs));
        }

        /** The size of a row, or the given one if none was set. */
        long sizeOr(long size) {
            return numHiddens == 0 ? size : numHiddens;
        }

        /** The options as C's struct. */
        NativePositionalEncodingOptions toNative(NativeStructs structs) {
            NativePositionalEncodingOptions members = structs.add(new NativePositionalEncodingOptions());
            members.setSize(numHiddens);
            members.setMaxPositions(maxLen);
            members.setFirstRow(firstRow);
            members.setDropout(dropout);
            members.setKind(kind.code);
            return members;
        }

        /**
         * Sets the size of a row, which is required but for the positions of an encoder or a decoder.
         *
         * @param numHiddens the size, 1 or more; even for the kinds with halves; of the positions of another block also
         *     0, the default: the size of its rows
         * @return this
         */
        public Builder setNumHiddens(long numHiddens) {
            this.numHiddens = numHiddens;
            return this;
        }

        /**
         * Sets how many positions there are, which is required.
         *
         * @param maxLen the number, 1 or more: each position is below it
         * @return this
         */
        public Builder setMaxLen(long maxLen) {
            this.maxLen = maxLen;
            return this;
        }

        /**
         * Sets the row of position 0 in a learned table.
         *
         * @param firstRow the index; 0 is the default, 2 for OPT, BART and RoBERTa
         * @return this
         */
        public Builder optFirstRow(long firstRow) {
            this.firstRow = firstRow;
            return this;
        }

        /**
         * Sets the probability that an element of the sum is dropped when training.
         *
         * @param dropout the probability, from 0 to below 1; the default is 0
         * @return this
         */
        public Builder optDropout(float dropout) {
            this.dropout = dropout;
            return this;
        }

        /**
         * Sets what is added.
         *
         * @param kind the kind; the default is {@link PositionKind#SINUSOIDAL}
         * @return this
         */
        public Builder optKind(PositionKind kind) {
            this.kind = Objects.requireNonNull(kind, "kind");
            return this;
        }

        /**
         * Makes the block; a learned table has no values yet.
         *
         * @return the block
         * @throws IllegalArgumentException if an option is out of range, or contradicts another
         */
        public PositionalEncoding build() {
            return new PositionalEncoding(this, (NDManager) null);
        }
    }
}
