// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class MultiHeadAttentionOptions
{
    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"MultiHeadAttention(numHiddens={NumHiddens}, numHeads={NumHeads}, "
        + (Biases is Bias.None or Bias.All ? $"useBias={Biases == Bias.All}" : $"biases=[{Biases}]")
        + $", dropout={Dropout})";
}
