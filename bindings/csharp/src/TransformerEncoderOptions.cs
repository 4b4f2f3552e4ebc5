// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>The options of a <see cref="TransformerEncoder"/>, which copies them.</summary>
public sealed class TransformerEncoderOptions : TransformerStackOptions
{
    /// <summary>All layers. Either this must be set, or Layers.</summary>
    public TransformerEncoderBlockOptions? Layer { get; set; }

    /// <summary>The layers, each with its own options, in place of Layer; null, the default: all have those of Layer. All
    /// have the same NumHiddens. The final norm, the embedding's norm and its dropout have the options of the first
    /// layer.</summary>
    public IReadOnlyList<TransformerEncoderBlockOptions>? Layers { get; set; }

    /// <summary>The embedding of patches, with which Forward reads images (B, C, H, W) in place of rows, as ViT; its
    /// NumHiddens may be 0 for the size of the rows. Lengths, masks and positions count the rows of its output. Null, the
    /// default: none. Not together with Embedding or Audio.</summary>
    public PatchEmbeddingOptions? Patches { get; set; }

    /// <summary>The embedding of audio, with which Forward reads features (B, NumMels, T) in place of rows, as Whisper;
    /// its NumHiddens may be 0 for the size of the rows. Lengths, masks and positions count the rows of its output. Null,
    /// the default: none. Not together with Embedding or Patches.</summary>
    public AudioEmbeddingOptions? Audio { get; set; }

    /// <summary>The options of the first layer.</summary>
    internal TransformerEncoderBlockOptions? FirstLayer => Layers is null ? Layer : Layers[0];

    private protected override TransformerBlockOptions? LayerOptions => FirstLayer;

    private protected override long Size => FirstLayer!.Attention!.NumHiddens;

    private protected override bool ReadsSignals => Patches != null || Audio != null;

    /// <summary>The options of a layer.</summary>
    internal TransformerEncoderBlockOptions LayerAt(long index) => Layers is null ? Layer! : Layers[(int)index];

    internal TransformerEncoderOptions Copy()
    {
        var copy = (TransformerEncoderOptions)MemberwiseClone();
        copy.CopyCommon();
        copy.Layer = Layer?.Copy();
        copy.Patches = Patches?.Copy();
        copy.Audio = Audio?.Copy();
        copy.Layers = CopiesOf(Layers, layer => layer.Copy());
        copy.NumLayers = CheckedNumLayers(copy.Layers?.Count);
        return copy;
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() => $"TransformerEncoder({DescribeCommon()}, "
        + (Patches is null ? string.Empty : $"patches={Patches.Describe()}, ")
        + (Audio is null ? string.Empty : $"audio={Audio.Describe()}, ")
        + (Layers is null ? $"layer={Layer?.Describe()})"
            : $"layers=[{string.Join(", ", Layers.Select(layer => layer.Describe()))}])");

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
        members.Layers = structs.AddressesOf(Layers?.Select(layer => layer.ToNative(structs)));
        Fill(members, structs);
        members.Patches = NativeStruct.PointerOf(Patches?.ToNative(structs));
        members.Audio = NativeStruct.PointerOf(Audio?.ToNative(structs));
        return members;
    }

    private protected override IEnumerable<NativeBlock> MakeSignalChildren(Func<string, NativeBlock.ChildPlace> at)
    {
        if (Patches != null)
        {
            PatchEmbeddingOptions options = Patches.Copy();
            options.NumHiddens = Size;
            yield return new PatchEmbedding(options, at("patches"));
        }
        if (Audio != null)
        {
            AudioEmbeddingOptions options = Audio.Copy();
            options.NumHiddens = Size;
            yield return new AudioEmbedding(options, at("audio"));
        }
    }
}
