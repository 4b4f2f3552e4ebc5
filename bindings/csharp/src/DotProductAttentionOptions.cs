// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="DotProductAttention"/>, which copies them.</summary>
public sealed class DotProductAttentionOptions : AttentionOptions
{
    internal DotProductAttentionOptions Copy() => (DotProductAttentionOptions)MemberwiseClone();
}
