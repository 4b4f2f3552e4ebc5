// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="TransformerEncoder"/>, which copies them.</summary>
public sealed class TransformerEncoderOptions : TransformerStackOptions
{
    /// <summary>All layers. Must be set.</summary>
    public TransformerEncoderBlockOptions? Layer { get; set; }

    private protected override TransformerBlockOptions? LayerOptions => Layer;

    private protected override long Size => Layer!.Attention!.NumHiddens;

    internal TransformerEncoderOptions Copy()
    {
        var copy = (TransformerEncoderOptions)MemberwiseClone();
        copy.CopyCommon();
        copy.Layer = Layer?.Copy();
        return copy;
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() => $"TransformerEncoder({DescribeCommon()}, layer={Layer?.Describe()})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedEncoderCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeEncoderOptions ToNative(NativeStructs structs)
    {
        NativeEncoderOptions members = structs.Add(new NativeEncoderOptions());
        members.Layer = NativeStruct.PointerOf(Layer?.ToNative(structs));
        Fill(members, structs);
        return members;
    }
}
