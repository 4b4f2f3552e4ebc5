// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * A linear layer, y = x W^T + b, over the last axis of its input. Its parameters are "weight" of shape (units, size of
 * the input) and, unless it is made without bias, "bias" of shape (units).
 *
 * <p>forward takes a list of one array (..., E) of FLOAT32, FLOAT16 or BFLOAT16, and gives a list of one array (...,
 * units) of the same type. Many threads may call it on one block at the same time; a call that changes the parameters
 * waits for them.
 */
public final class Linear extends BuiltBlock<Linear.Builder> {
    /** Creates a root block, or a child when its path in a parent is given. */
    Linear(Builder options, ChildPath path) {
        super("Linear", options);
        construct(path);
    }

    /**
     * Begins a linear layer.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Makes a linear layer. */
    public static final class Builder extends LayerOptions<Builder> {
        private long units;
        private boolean bias = true;

        private Builder() {}

        @Override
        String describe() {
            return "Linear(units=" + units + ", bias=" + bias + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            // C's sentence would name output_size, which in Java is an option of MultiHeadAttention.
            if (units < 1) {
                throw new IllegalArgumentException("units is " + units + ", expected at least 1");
            }
            NativeLinearOptions members = structs.add(new NativeLinearOptions());
            members.setOutputSize(units);
            members.setNoBias(bias ? 0 : 1);
            return HeedNative.heed_linear_create(context, members);
        }

        /**
         * Sets the size of the output, which is required.
         *
         * @param units the size, 1 or more
         * @return this
         */
        public Builder setUnits(long units) {
            this.units = units;
            return this;
        }

        /**
         * Sets whether a bias is added.
         *
         * @param bias true, the default, to add one
         * @return this
         */
        public Builder optBias(boolean bias) {
            this.bias = bias;
            return this;
        }

        /** Takes the options of a layer. */
        Builder read(SaidOptions said) {
            units = said.number("output_size", units);
            bias = !said.is("no_bias");
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if the size of the output was not set, or is below 1
         */
        public Linear build() {
            return new Linear(this, null);
        }
    }
}
