// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The order of the copies along an axis that is repeated.</summary>
internal enum RepeatOrder
{
    /// <summary>Copies of the whole axis follow each other: (a, b) becomes (a, b, a, b).</summary>
    Tiles,

    /// <summary>The copies of each element stand together: (a, b) becomes (a, a, b, b).</summary>
    Parts,
}
