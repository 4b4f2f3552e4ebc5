// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;

/**
 * The options of a stack of encoder or decoder layers.
 *
 * @param <B> the builder
 * @param <L> the builder of the layers
 */
abstract class TransformerStackOptions<B extends TransformerStackOptions<B, L>, L extends TransformerOptions<L>>
        extends CopiedOptions<B> {
    /** The members that both of C's structs have. */
    interface Members {
        void setLayer(long layer);

        void setNumLayers(long numLayers);

        void setFinalNorm(int finalNorm);
    }

    L layer;
    private long numLayers;
    private boolean finalNorm;

    TransformerStackOptions() {}

    abstract B self();

    final void fill(Members members, NativeStructs structs) {
        members.setLayer(NativeStruct.pointerOf(layer == null ? null : layer.toNative(structs)));
        members.setNumLayers(numLayers);
        members.setFinalNorm(finalNorm ? 1 : 0);
    }

    final String describe(String kind) {
        return kind + "(numLayers=" + numLayers + ", finalNorm=" + finalNorm + ", layer=" + layer.describe() + ")";
    }

    /**
     * Sets the layers, which are required.
     *
     * @param layer the options of all of them
     * @return this
     */
    public final B setLayer(L layer) {
        this.layer = Objects.requireNonNull(layer, "layer").copy();
        return self();
    }

    /**
     * Sets the number of layers, which is required.
     *
     * @param numLayers the number, 1 to 4096
     * @return this
     */
    public final B setNumLayers(long numLayers) {
        this.numLayers = numLayers;
        return self();
    }

    /**
     * Sets whether a norm, with the options of the layers' norms, follows the last layer. It is never assumed: with
     * normFirst a stack usually has it, in PyTorch's nn.Transformer without normFirst too.
     *
     * @param finalNorm true: one follows; false, the default: none does
     * @return this
     */
    public final B optFinalNorm(boolean finalNorm) {
        this.finalNorm = finalNorm;
        return self();
    }
}
