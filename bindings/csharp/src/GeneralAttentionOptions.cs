// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="GeneralAttention"/>, which copies them.</summary>
public sealed class GeneralAttentionOptions : AttentionOptions
{
    /// <summary>The size of a query, to which keys are projected, 1 or more. Must be set.</summary>
    public long QuerySize { get; set; }

    internal GeneralAttentionOptions Copy() => (GeneralAttentionOptions)MemberwiseClone();

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var members = new NativeGeneralAttentionOptions();
        Fill(members);
        members.QuerySize = QuerySize;
        return HeedNative.HeedGeneralAttentionCreate(context, members);
    }
}
