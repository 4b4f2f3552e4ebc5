// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="TransformerDecoderBlock"/>, which copies them.</summary>
public sealed class TransformerDecoderBlockOptions : TransformerBlockOptions
{
    /// <summary>The self-attention, with NumHiddens; its OutputSize is 0 or the same, and its output is projected. It
    /// is causal only if its option <see cref="AttentionOptions.Causal"/> says so. Must be set.</summary>
    public MultiHeadAttentionOptions? SelfAttention { get; set; }

    /// <summary>The cross attention to the encoder's output, with the NumHiddens of the self-attention; null, the
    /// default: a decoder without an encoder.</summary>
    public MultiHeadAttentionOptions? CrossAttention { get; set; }

    internal TransformerDecoderBlockOptions Copy()
    {
        var copy = (TransformerDecoderBlockOptions)MemberwiseClone();
        copy.CopyCommon();
        copy.SelfAttention = SelfAttention?.Copy();
        copy.CrossAttention = CrossAttention?.Copy();
        return copy;
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"TransformerDecoderBlock(selfAttention={SelfAttention?.Describe()}, "
        + $"crossAttention={CrossAttention?.Describe() ?? "null"}, {DescribeCommon()})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedDecoderLayerCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeDecoderLayerOptions ToNative(NativeStructs structs)
    {
        NativeDecoderLayerOptions members = structs.Add(new NativeDecoderLayerOptions());
        members.SelfAttention = NativeStruct.PointerOf(SelfAttention?.ToNative(structs));
        members.CrossAttention = NativeStruct.PointerOf(CrossAttention?.ToNative(structs));
        Fill(members, structs);
        return members;
    }
}
