// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The options of a <see cref="PatchEmbedding"/>, which copies them.</summary>
public sealed class PatchEmbeddingOptions
{
    /// <summary>The height of a patch, 1 or more. Must be set.</summary>
    public long PatchHeight { get; set; }

    /// <summary>The width of a patch; 0, the default: that of a square.</summary>
    public long PatchWidth { get; set; }

    /// <summary>The number of channels of an image, 1 or more; 3 for colours. Must be set.</summary>
    public long NumChannels { get; set; }

    /// <summary>The size of a row of the output, 1 or more. Must be set; in the options of an encoder 0 means the size of
    /// its rows.</summary>
    public long NumHiddens { get; set; }

    /// <summary>Whether the first row is a parameter, for classification; false by default.</summary>
    public bool ClassToken { get; set; }

    /// <summary>Whether a bias is added; true by default.</summary>
    public bool Bias { get; set; } = true;

    /// <summary>The height of all images, a multiple of <see cref="PatchHeight"/>; 0, the default: images may have any
    /// size. A learned table of positions is for images of one size: those of 2 x 8 patches have as many as those of 4 x
    /// 4.</summary>
    public long ImageHeight { get; set; }

    /// <summary>The width of all images, a multiple of the patches' width; 0, the default: that of a square.</summary>
    public long ImageWidth { get; set; }

    internal PatchEmbeddingOptions Copy() => (PatchEmbeddingOptions)MemberwiseClone();

    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"PatchEmbedding(patchHeight={PatchHeight}, patchWidth={(PatchWidth == 0 ? PatchHeight : PatchWidth)}, "
        + $"numChannels={NumChannels}, numHiddens={NumHiddens}, classToken={ClassToken}, bias={Bias}, "
        + $"imageHeight={ImageHeight}, imageWidth={(ImageWidth == 0 ? ImageHeight : ImageWidth)})";

    internal NativeLayer NewLayer(NativeContext context)
    {
        using var structs = new NativeStructs();
        return HeedNative.HeedPatchEmbeddingCreate(context, ToNative(structs));
    }

    /// <summary>The options as C's struct.</summary>
    internal NativePatchEmbeddingOptions ToNative(NativeStructs structs)
    {
        NativePatchEmbeddingOptions members = structs.Add(new NativePatchEmbeddingOptions());
        members.PatchHeight = PatchHeight;
        members.PatchWidth = PatchWidth;
        members.NumChannels = NumChannels;
        members.Size = NumHiddens;
        members.ClassToken = ClassToken ? 1 : 0;
        members.NoBias = Bias ? 0 : 1;
        members.ImageHeight = ImageHeight;
        members.ImageWidth = ImageWidth;
        return members;
    }
}
