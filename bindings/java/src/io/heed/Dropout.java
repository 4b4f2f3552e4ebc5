// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Dropout: when training, each element becomes 0 with probability p, and is divided by 1 - p otherwise. It has no
 * parameters, and need not be initialized.
 *
 * <p>forward takes a list of one array of FLOAT32, FLOAT16 or BFLOAT16, and gives a list of one array of the same shape
 * and type. Each forward in training drops different elements; {@link #setSeed} sets the seed of the first one. Many
 * threads may call it on one block at the same time.
 */
public final class Dropout extends BuiltBlock<Dropout.Builder> {
    /** Creates a root block, or a child when its path in a parent is given. */
    Dropout(Builder options, ChildPath path) {
        super("Dropout", options);
        construct(path);
    }

    /**
     * Begins a dropout layer.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Makes a dropout layer. */
    public static final class Builder extends LayerOptions<Builder> {
        private float rate = 0.5f;

        private Builder() {}

        @Override
        String describe() {
            return "Dropout(rate=" + rate + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            NativeDropoutOptions members = structs.add(new NativeDropoutOptions());
            members.setDropout(rate);
            return HeedNative.heed_dropout_create(context, members);
        }

        /**
         * Sets the probability that an element is dropped.
         *
         * @param rate the probability, from 0 to below 1; the default is 0.5, as in DJL
         * @return this
         */
        public Builder optRate(float rate) {
            this.rate = rate;
            return this;
        }

        /** Takes the options of a layer. */
        Builder read(SaidOptions said) {
            rate = said.number("dropout", rate);
            return this;
        }

        /**
         * Makes the block.
         *
         * @return the block
         * @throws IllegalArgumentException if the probability is out of range
         */
        public Dropout build() {
            return new Dropout(this, null);
        }
    }
}
