// SPDX-License-Identifier: Apache-2.0

namespace Heed;

/// <content>What is not generated from heed.h.</content>
public sealed partial class LayerNormOptions
{
    /// <summary>The text of a block with these options.</summary>
    internal string Describe() =>
        $"LayerNorm(epsilon={Epsilon}, kind={Kind}, center={Center})";
}
