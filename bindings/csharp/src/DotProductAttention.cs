// SPDX-License-Identifier: Apache-2.0
using System.Threading;

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
    /// of that call's queries, and are valid until the next Forward of the block, which disposes them, or until <see
    /// cref="MultiHeadAttention.KeepAttentionWeights"/> is set to false: copy out what is needed for
    /// longer.</summary>
    public NDArray? AttentionWeights => attentionWeights;

    /// <summary>Puts the weights of a Forward, or null, in the place of those before, which are disposed.</summary>
    internal void Keep(NDArray? weights) => Interlocked.Exchange(ref attentionWeights, weights)?.Dispose();
}
