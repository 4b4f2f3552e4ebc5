// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** The attention inside a {@link MultiHeadAttention}, with the weights that it last computed. */
public final class DotProductAttention {
    /**
     * The attention weights of the last {@code forward}, of shape (B * H, Q, K), heads of one batch item together,
     * before dropout. Null before the first one, and while they are not kept. They belong to the manager of that call's
     * queries, and are replaced, not closed, by the next call.
     */
    public volatile NDArray attentionWeights;

    DotProductAttention() {}
}
