// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="TransformerDecoder"/>, which copies them.</summary>
public sealed class TransformerDecoderOptions
{
    /// <summary>All layers. Must be set.</summary>
    public TransformerDecoderBlockOptions? Layer { get; set; }

    /// <summary>How many layers there are, 1 to 4096. Must be set.</summary>
    public long NumLayers { get; set; }

    /// <summary>Whether a norm, with the options of the layers' norms, follows the last layer; false by default. It is
    /// never assumed: with NormFirst a stack usually has it, in PyTorch's nn.Transformer without NormFirst
    /// too.</summary>
    public bool FinalNorm { get; set; }

    internal TransformerDecoderOptions Copy()
    {
        var copy = (TransformerDecoderOptions)MemberwiseClone();
        copy.Layer = Layer?.Copy();
        return copy;
    }

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        NativeDecoderOptions members = structs.Add(new NativeDecoderOptions());
        members.Layer = NativeStruct.PointerOf(Layer?.ToNative(structs));
        members.NumLayers = NumLayers;
        members.FinalNorm = FinalNorm ? 1 : 0;
        return HeedNative.HeedDecoderCreate(context, members);
    }
}
