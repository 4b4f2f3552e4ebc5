// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <summary>The options of an <see cref="Embedding"/>, which copies them.</summary>
public sealed class EmbeddingOptions
{
    /// <summary>How many rows the table has, 1 to 2147483647: ids are below it. Must be set.</summary>
    public long NumEmbeddings { get; set; }

    /// <summary>The size of a row, 1 or more. Must be set; in the options of an encoder, decoder or Transformer 0
    /// means the size of its rows.</summary>
    public long EmbeddingSize { get; set; }

    /// <summary>The id whose row is initialized with 0; it is read like any other. -1, the default: none.</summary>
    public long PaddingIndex { get; set; } = -1;

    /// <summary>The factor of the rows, any finite number; 0, the default, means 1. Vaswani et al., section 3.4, and
    /// Gemma have the square root of EmbeddingSize.</summary>
    public float Scale { get; set; }

    internal EmbeddingOptions Copy() => (EmbeddingOptions)MemberwiseClone();

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"Embedding(numEmbeddings={NumEmbeddings}, embeddingSize={EmbeddingSize}, paddingIndex={PaddingIndex}, "
        + $"scale={Scale})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedEmbeddingCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeEmbeddingOptions ToNative(NativeStructs structs)
    {
        NativeEmbeddingOptions members = structs.Add(new NativeEmbeddingOptions());
        members.NumEmbeddings = NumEmbeddings;
        members.EmbeddingSize = EmbeddingSize;
        members.PaddingIndex = PaddingIndex;
        members.Scale = Scale;
        return members;
    }
}
