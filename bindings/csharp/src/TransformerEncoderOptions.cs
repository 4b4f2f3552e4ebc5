// SPDX-License-Identifier: Apache-2.0
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class TransformerEncoderOptions
{
    /// <summary>All layers. Either this must be set, or Layers.</summary>
    public TransformerEncoderBlockOptions? Layer { get; set; }

    /// <summary>The layers, each with its own options, in place of Layer; null, the default: all have those of Layer. All
    /// have the same NumHiddens. The final norm, the embedding's norm and its dropout have the options of the first
    /// layer.</summary>
    public IReadOnlyList<TransformerEncoderBlockOptions>? Layers { get; set; }

    private void ReadByHand(SaidOptions said)
    {
        Layer = said.Part("layer") is { } all ? new TransformerEncoderBlockOptions().Read(all) : null;
        Layers = said.Parts("layers")?.ConvertAll(each => new TransformerEncoderBlockOptions().Read(each));
    }

    private void CopyMore()
    {
        Layer = Layer?.Copy();
        Layers = CopiesOf(Layers, layer => layer.Copy());
        NumLayers = CheckedNumLayers(Layers?.Count);
    }

    private void FillByHand(NativeEncoderOptions members, NativeStructs structs)
    {
        members.Layer = NativeStruct.PointerOf(Layer?.ToNative(structs));
        members.Layers = structs.AddressesOf(Layers?.Select(layer => layer.ToNative(structs)));
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() => $"TransformerEncoder({DescribeCommon()}, "
        + (Patches is null ? string.Empty : $"patches={Patches.Describe()}, ")
        + (Audio is null ? string.Empty : $"audio={Audio.Describe()}, ")
        + (Layers is null ? $"layer={Layer?.Describe()})"
            : $"layers=[{string.Join(", ", Layers.Select(layer => layer.Describe()))}])");
}
