// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class LoadOptions
{
    /// <summary>Describes the options.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => $"LoadOptions(Widen={Widen})";
}
