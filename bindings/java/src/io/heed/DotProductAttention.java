// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The attention inside a {@link MultiHeadAttention}, with the weights that it last computed. */
public final class DotProductAttention {
    /**
     * The attention weights of the last {@code forward}, of shape (B * H, Q, K), heads of one batch item together,
     * before dropout. Null before the first one, and while they are not kept. They belong to the manager of that call's
     * queries, and are valid until the next {@code forward} of the block, which closes them, or until {@link
     * MultiHeadAttention#setKeepAttentionWeights setKeepAttentionWeights(false)}: copy out what is needed for longer.
     */
    public volatile NDArray attentionWeights;

    DotProductAttention() {}
}
