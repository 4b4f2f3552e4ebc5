// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Base class of the attention blocks without projections to heads. A public field has the attention weights of the last
 * forward, as in d2l-java. Only heed's own blocks extend it.
 */
public abstract class AttentionBlock extends NativeBlock {
    /**
     * The attention weights of the last forward before dropout: (B, Q, K), or (B, H, Q, K) for inputs of four axes; of
     * a {@link MultiHeadAttention} (B * H, Q, K), with the heads of a batch element next to each other. Null before the
     * first forward, and while weights are not kept. They belong to the manager of that call's queries. The next
     * forward closes them, as does {@code setKeepAttentionWeights(false)}: make a copy to use them for longer.
     */
    public volatile NDArray attentionWeights;

    private final Object weightsLock = new Object();
    private volatile boolean keep;
    /**
     * The array that this block stored last in the public field. A caller may have stored another one there since.
     * Guarded by weightsLock.
     */
    private NDArray kept;

    AttentionBlock(String kind, boolean keep) {
        super(kind);
        this.keep = keep;
    }

    /**
     * Sets whether each forward that takes an NDList computes and keeps the attention weights, which have one element
     * for each pair of query and key. This does not change the output. Turning it off closes the weights of the last
     * forward.
     *
     * @param keep true to keep them in {@link #attentionWeights}, which is the default of a block that was made by a
     *     constructor
     */
    public final void setKeepAttentionWeights(boolean keep) {
        this.keep = keep;
        if (!keep) {
            keep(null);
        }
    }

    /**
     * Tells whether each forward that takes an NDList keeps the attention weights.
     *
     * @return what was set last
     */
    public final boolean isKeepAttentionWeights() {
        return keep;
    }

    @Override
    final boolean keepsWeights() {
        return keep;
    }

    @Override
    final void keepWeights(NDManager manager, NativeTensor weights, Tape tape) {
        NDArray made = weights == null ? null : manager.adopt(weights);
        if (tape != null) {
            tape.mark("attention weights", made);
        }
        keep(made);
    }

    /** Replaces the kept weights by those of a forward, or by null, and closes the weights that were kept before. */
    final void keep(NDArray weights) {
        NDArray before;
        synchronized (weightsLock) {
            before = kept;
            kept = weights;
            attentionWeights = weights;
        }
        if (before != null) {
            before.close();
        }
    }
}
