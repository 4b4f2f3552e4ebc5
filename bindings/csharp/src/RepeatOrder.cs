// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What is repeated along an axis.</summary>
internal enum RepeatOrder
{
    /// <summary>All of it, one after the other: (a, b, a, b).</summary>
    Tiles,

    /// <summary>Each index: (a, a, b, b).</summary>
    Parts,
}
