// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Attention alone, with the weights of its last forward in a public field, as d2l-java has it. */
abstract class AttentionBlock extends NativeBlock {
    /**
     * The attention weights of the last forward, of shape (B, Q, K), or (B, H, Q, K) for inputs of four axes, before
     * dropout; those of a {@link MultiHeadAttention} of shape (B * H, Q, K), heads of one batch element together. Null
     * before the first forward, and while they are not kept. They belong to the manager of that call's queries, and are
     * valid until the next forward, which closes them, or until {@code setKeepAttentionWeights(false)}: copy out what
     * is needed for longer.
     */
    public volatile NDArray attentionWeights;

    private final Object weightsLock = new Object();
    private volatile boolean keep;
    /** The array that the block itself put into the public field last, whatever is in it now. Under weightsLock. */
    private NDArray kept;

    AttentionBlock(String kind, boolean keep) {
        super(kind);
        this.keep = keep;
    }

    /**
     * Sets whether each forward of a list computes and keeps the attention weights, which take as many elements as
     * there are pairs of query and key. The result is the same. Those of the last forward are closed when they are no
     * longer kept.
     *
     * @param keep true, as it is from the beginning in a block that was made by a constructor, to keep them in {@link
     *     #attentionWeights}
     */
    public final void setKeepAttentionWeights(boolean keep) {
        this.keep = keep;
        if (!keep) {
            keep(null);
        }
    }

    /**
     * Tells whether each forward of a list keeps the attention weights.
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
    final void keepWeights(NDManager manager, NativeTensor weights) {
        keep(weights == null ? null : manager.adopt(weights));
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
