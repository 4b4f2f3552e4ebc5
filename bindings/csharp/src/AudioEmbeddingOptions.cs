// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of an <see cref="AudioEmbedding"/>, which copies them.</summary>
public sealed class AudioEmbeddingOptions
{
    /// <summary>The number of features of a frame, 1 or more. Must be set.</summary>
    public long NumMels { get; set; }

    /// <summary>The size of a row of the output, 1 or more. Must be set; in the options of an encoder 0 means the size of
    /// its rows.</summary>
    public long NumHiddens { get; set; }

    internal AudioEmbeddingOptions Copy() => (AudioEmbeddingOptions)MemberwiseClone();

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"AudioEmbedding(numMels={NumMels}, numHiddens={NumHiddens})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedAudioEmbeddingCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativeAudioEmbeddingOptions ToNative(NativeStructs structs)
    {
        NativeAudioEmbeddingOptions members = structs.Add(new NativeAudioEmbeddingOptions());
        members.NumMels = NumMels;
        members.Size = NumHiddens;
        return members;
    }
}
