// SPDX-License-Identifier: Apache-2.0
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class TransformerDecoderOptions
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

    internal override NativeBlock MakeChild(string name, NativeBlock.ChildPath at) =>
        IndexOfLayer(name) is { } index
            ? new TransformerDecoderBlock(Layers is null ? Layer! : Layers[index], at)
            : base.MakeChild(name, at);

    private void CopyMore()
    {
        Layer = Layer?.Copy();
        Layers = CopiesOf(Layers, layer => layer.Copy());
        NumLayers = CheckedNumLayers(Layers?.Count);
    }

    private void FillByHand(NativeDecoderOptions members, NativeStructs structs)
    {
        members.Layer = NativeStruct.PointerOf(Layer?.ToNative(structs));
        members.Layers = structs.AddressesOf(Layers?.Select(layer => layer.ToNative(structs)));
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() => $"TransformerDecoder({DescribeCommon()}, "
        + (Layers is null ? $"layer={Layer?.Describe()})"
            : $"layers=[{string.Join(", ", Layers.Select(layer => layer.Describe()))}])");
}
