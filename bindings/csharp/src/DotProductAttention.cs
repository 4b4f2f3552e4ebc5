// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The attention inside a <see cref="MultiHeadAttention"/>, with the weights that it last
/// computed.</summary>
public sealed class DotProductAttention
{
    private volatile NDArray? attentionWeights;

    internal DotProductAttention()
    {
    }

    /// <summary>The attention weights of the last Forward, of shape (B * H, Q, K), heads of one batch item
    /// together, before dropout. Null before the first one, and while they are not kept. They belong to the manager
    /// of that call's queries, and are replaced, not disposed, by the next call.</summary>
    public NDArray? AttentionWeights
    {
        get => attentionWeights;
        internal set => attentionWeights = value;
    }
}
