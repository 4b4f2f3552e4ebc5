// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>What is not generated from heed.h.</content>
public sealed partial class AudioEmbeddingOptions
{
    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"AudioEmbedding(numMels={NumMels}, numHiddens={NumHiddens})";
}
