// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class OutputOptions
{
    /// <summary>The text in the descriptions of blocks.</summary>
    internal string Describe() =>
        $"Output(size={Size}, tied={Tied}, bias={Bias}, scale={Scale}, "
        + $"softCap={SoftCap})";
}
