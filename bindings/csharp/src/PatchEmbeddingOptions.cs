// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>What is not generated from heed.h.</content>
public sealed partial class PatchEmbeddingOptions
{
    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"PatchEmbedding(patchHeight={PatchHeight}, patchWidth={(PatchWidth == 0 ? PatchHeight : PatchWidth)}, "
        + $"numChannels={NumChannels}, numHiddens={NumHiddens}, classToken={ClassToken}, bias={Bias}, "
        + $"imageHeight={ImageHeight}, imageWidth={(ImageWidth == 0 ? ImageHeight : ImageWidth)})";
}
