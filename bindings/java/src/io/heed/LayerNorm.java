// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * A norm over the last axis of its input: a layer norm or, with {@link NormKind#RMS}, a root mean square norm. {@link
 * NormKind} has the formulas. Its parameters are "weight" of shape (size of the input), initially 1, and for a layer
 * norm "bias" (size of the input), initially 0, unless it is made without.
 *
 * <p>forward takes a list of one array (..., E) of FLOAT32, FLOAT16 or BFLOAT16, and gives a list of one array of the
 * same shape and type. The variance is computed in two passes, so that a row of numbers that are nearly equal is exact.
 * Many threads may call it on one block at the same time; a call that changes the parameters waits for them.
 */
public final class LayerNorm extends SingleInputBlock<LayerNorm.Builder> {
    /** Creates a root block, or a child when a place in a parent is given. */
    LayerNorm(Builder options, ChildLayer.Place place) {
        super("LayerNorm", options);
        construct(place);
    }

    /**
     * Begins a norm.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    @Override
    Parameter.Type typeOf(String parameterName) {
        return LayerParameter.typeOf("norm." + parameterName);
    }

    /** Makes a norm. */
    public static final class Builder extends LayerOptions<Builder> {
        private float epsilon;
        private NormKind kind = NormKind.LAYER;
        private boolean center = true;

        private Builder() {}

        @Override
        String describe() {
            return "LayerNorm(kind=" + kind + ", epsilon=" + (epsilon == 0 ? 1e-5f : epsilon) + ", center="
                    + (center && kind == NormKind.LAYER) + ")";
        }

        @Override
        NativeLayer newLayer(NativeContext context, NativeStructs structs) {
            return HeedNative.heed_layer_norm_create(context, toNative(structs));
        }

        /** The options as C's struct. */
        NativeLayerNormOptions toNative(NativeStructs structs) {
            NativeLayerNormOptions members = structs.add(new NativeLayerNormOptions());
            members.setEpsilon(epsilon);
            members.setKind(kind.code);
            members.setNoBias(center ? 0 : 1);
            return members;
        }

        /**
         * Sets what is added to the variance, or to the mean of the squares. Files of weights do not contain it:
         * docs/blocks.md lists that of the families of models.
         *
         * @param epsilon a number above 0; 0, the default, means 1e-5, as in PyTorch
         * @return this
         */
        public Builder optEpsilon(float epsilon) {
            this.epsilon = epsilon;
            return this;
        }

        /**
         * Sets the kind.
         *
         * @param kind the kind; the default is {@link NormKind#LAYER}
         * @return this
         */
        public Builder optKind(NormKind kind) {
            this.kind = Objects.requireNonNull(kind, "kind");
            return this;
        }

        /**
         * Sets whether a layer norm adds a bias.
         *
         * @param center true, the default, to add one; {@link NormKind#RMS} has none
         * @return this
         */
        public Builder optCenter(boolean center) {
            this.center = center;
            return this;
        }

        /**
         * Makes the block, without values for its parameters.
         *
         * @return the block
         * @throws IllegalArgumentException if epsilon is negative or not finite
         */
        public LayerNorm build() {
            return new LayerNorm(this, null);
        }
    }
}
