// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>What is not generated from heed.h.</content>
public sealed partial class TransformerOptions
{
    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"Transformer(encoder={Encoder?.Describe()}, decoder={Decoder?.Describe()}"
        + (Embedding is null ? string.Empty : $", embedding={Embedding.Describe()}")
        + (Output is null ? ")" : $", output={Output.Describe()})");
}
