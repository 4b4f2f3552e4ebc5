// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="TransformerEncoder"/>, which copies them.</summary>
public sealed class TransformerEncoderOptions
{
    /// <summary>All layers. Must be set.</summary>
    public TransformerEncoderBlockOptions? Layer { get; set; }

    /// <summary>How many layers there are, 1 to 4096. Must be set.</summary>
    public long NumLayers { get; set; }

    /// <summary>Whether a norm, with the options of the layers' norms, follows the last layer; false by default. It is
    /// never assumed: with NormFirst a stack usually has it, in PyTorch's nn.Transformer without NormFirst
    /// too.</summary>
    public bool FinalNorm { get; set; }

    internal TransformerEncoderOptions Copy()
    {
        var copy = (TransformerEncoderOptions)MemberwiseClone();
        copy.Layer = Layer?.Copy();
        return copy;
    }

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        NativeEncoderOptions members = structs.Add(new NativeEncoderOptions());
        members.Layer = NativeStruct.PointerOf(Layer?.ToNative(structs));
        members.NumLayers = NumLayers;
        members.FinalNorm = FinalNorm ? 1 : 0;
        return HeedNative.HeedEncoderCreate(context, members);
    }
}
