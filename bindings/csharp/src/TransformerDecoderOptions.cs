// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="TransformerDecoder"/>, which copies them.</summary>
public sealed class TransformerDecoderOptions : TransformerStackOptions
{
    /// <summary>All layers. Must be set.</summary>
    public TransformerDecoderBlockOptions? Layer { get; set; }

    private protected override TransformerBlockOptions? LayerOptions => Layer;

    private protected override long Size => Layer!.SelfAttention!.NumHiddens;

    internal TransformerDecoderOptions Copy()
    {
        var copy = (TransformerDecoderOptions)MemberwiseClone();
        copy.CopyCommon();
        copy.Layer = Layer?.Copy();
        return copy;
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() => $"TransformerDecoder({DescribeCommon()}, layer={Layer?.Describe()})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedDecoderCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeDecoderOptions ToNative(NativeStructs structs)
    {
        NativeDecoderOptions members = structs.Add(new NativeDecoderOptions());
        members.Layer = NativeStruct.PointerOf(Layer?.ToNative(structs));
        Fill(members, structs);
        return members;
    }
}
