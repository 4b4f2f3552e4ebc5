// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="Transformer"/>, which copies them.</summary>
public sealed class TransformerOptions
{
    /// <summary>The encoder, without an Output. Must be set.</summary>
    public TransformerEncoderOptions? Encoder { get; set; }

    /// <summary>The decoder, with a CrossAttention in its layers. Must be set.</summary>
    public TransformerDecoderOptions? Decoder { get; set; }

    /// <summary>The embedding of the ids of both, whose EmbeddingSize may be 0 for the size of their rows; null, the
    /// default: encoder and decoder have their own, or read rows.</summary>
    public EmbeddingOptions? Embedding { get; set; }

    /// <summary>The projection of the decoder's rows, for example to logits; null, the default: that of the decoder's
    /// options, or none.</summary>
    public OutputOptions? Output { get; set; }

    internal TransformerOptions Copy()
    {
        var copy = (TransformerOptions)MemberwiseClone();
        copy.Encoder = Encoder?.Copy();
        copy.Decoder = Decoder?.Copy();
        copy.Embedding = Embedding?.Copy();
        copy.Output = Output?.Copy();
        return copy;
    }

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"Transformer(encoder={Encoder?.Describe()}, decoder={Decoder?.Describe()}"
        + (Embedding is null ? string.Empty : $", embedding={Embedding.Describe()}")
        + (Output is null ? ")" : $", output={Output.Describe()})");

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        NativeTransformerOptions members = structs.Add(new NativeTransformerOptions());
        members.Encoder = NativeStruct.PointerOf(Encoder?.ToNative(structs));
        members.Decoder = NativeStruct.PointerOf(Decoder?.ToNative(structs));
        members.Embedding = NativeStruct.PointerOf(Embedding?.ToNative(structs));
        members.Output = NativeStruct.PointerOf(Output?.ToNative(structs));
        return HeedNative.HeedTransformerCreate(context, members);
    }
}
