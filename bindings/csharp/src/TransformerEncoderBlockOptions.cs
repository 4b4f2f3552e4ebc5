// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="TransformerEncoderBlock"/>, which copies them.</summary>
public sealed class TransformerEncoderBlockOptions : TransformerBlockOptions
{
    /// <summary>The self-attention, with NumHiddens; its OutputSize is 0 or the same, and its output is projected. Must
    /// be set.</summary>
    public MultiHeadAttentionOptions? Attention { get; set; }

    internal TransformerEncoderBlockOptions Copy()
    {
        var copy = (TransformerEncoderBlockOptions)MemberwiseClone();
        copy.CopyCommon();
        copy.Attention = Attention?.Copy();
        return copy;
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"TransformerEncoderBlock(attention={Attention?.Describe()}, {DescribeCommon()})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedEncoderLayerCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeEncoderLayerOptions ToNative(NativeStructs structs)
    {
        NativeEncoderLayerOptions members = structs.Add(new NativeEncoderLayerOptions());
        members.Attention = NativeStruct.PointerOf(Attention?.ToNative(structs));
        Fill(members, structs);
        return members;
    }
}
