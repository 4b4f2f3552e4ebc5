// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What an <see cref="NDIndex"/> does to an axis of the array.</summary>
internal enum IndexKind
{
    /// <summary>It takes one index, and removes the axis.</summary>
    Index,

    /// <summary>It takes indices between two ends.</summary>
    Range,

    /// <summary>It takes as many whole axes as the others leave.</summary>
    Ellipsis,

    /// <summary>It adds an axis.</summary>
    NewAxis,

    /// <summary>It takes what an array of indices or a mask chooses.</summary>
    Array,
}
