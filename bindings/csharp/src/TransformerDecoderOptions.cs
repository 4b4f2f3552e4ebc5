// SPDX-License-Identifier: Apache-2.0
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>The options of a <see cref="TransformerDecoder"/>, which copies them.</summary>
public sealed class TransformerDecoderOptions : TransformerStackOptions
{
    /// <summary>All layers. Either this must be set, or Layers.</summary>
    public TransformerDecoderBlockOptions? Layer { get; set; }

    /// <summary>The layers, each with its own options, in place of Layer; null, the default: all have those of Layer. All
    /// have the same NumHiddens. The final norm, the embedding's norm and its dropout have the options of the first
    /// layer.</summary>
    public IReadOnlyList<TransformerDecoderBlockOptions>? Layers { get; set; }

    /// <summary>The options of the first layer.</summary>
    internal TransformerDecoderBlockOptions? FirstLayer => Layers is null ? Layer : Layers[0];

    private protected override TransformerBlockOptions? LayerOptions => FirstLayer;

    private protected override long Size => FirstLayer!.SelfAttention!.NumHiddens;

    /// <summary>The options of a layer.</summary>
    internal TransformerDecoderBlockOptions LayerAt(long index) => Layers is null ? Layer! : Layers[(int)index];

    internal TransformerDecoderOptions Copy()
    {
        var copy = (TransformerDecoderOptions)MemberwiseClone();
        copy.CopyCommon();
        copy.Layer = Layer?.Copy();
        copy.Layers = CopiesOf(Layers, layer => layer.Copy());
        copy.NumLayers = CheckedNumLayers(copy.Layers?.Count);
        return copy;
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() => $"TransformerDecoder({DescribeCommon()}, "
        + (Layers is null ? $"layer={Layer?.Describe()})"
            : $"layers=[{string.Join(", ", Layers.Select(layer => layer.Describe()))}])");

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
        members.Layers = structs.AddressesOf(Layers?.Select(layer => layer.ToNative(structs)));
        Fill(members, structs);
        return members;
    }
}
