// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>What is not generated from heed.h.</content>
public sealed partial class TransformerDecoderBlockOptions
{
    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"TransformerDecoderBlock(selfAttention={SelfAttention?.Describe()}, "
        + $"crossAttention={CrossAttention?.Describe() ?? "null"}, {DescribeCommon()})";
}
