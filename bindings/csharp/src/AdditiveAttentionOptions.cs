// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of an <see cref="AdditiveAttention"/>, which copies them.</summary>
public sealed class AdditiveAttentionOptions : AttentionOptions
{
    /// <summary>The size to which queries and keys are projected, 1 or more. Must be set.</summary>
    public long NumHiddens { get; set; }

    internal AdditiveAttentionOptions Copy() => (AdditiveAttentionOptions)MemberwiseClone();

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var members = new NativeAdditiveAttentionOptions();
        Fill(members);
        members.NumHiddens = NumHiddens;
        return HeedNative.HeedAdditiveAttentionCreate(context, members);
    }
}
