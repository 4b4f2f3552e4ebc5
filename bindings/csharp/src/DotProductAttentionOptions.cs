// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What a <see cref="DotProductAttention"/> is made with. The block copies them.</summary>
public sealed class DotProductAttentionOptions : AttentionOptions
{
    internal DotProductAttentionOptions Copy() => (DotProductAttentionOptions)MemberwiseClone();
}
