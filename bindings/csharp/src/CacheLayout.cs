// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Where a <see cref="KvCache"/> keeps its rows. The results have the same bits for every layout that keeps
/// the same rows.</summary>
public enum CacheLayout
{
    /// <summary>Each sequence has memory for Capacity rows.</summary>
    Contiguous = 0,

    /// <summary>Each sequence keeps its last rows: a query attends to itself, to the Capacity - 1 rows before it, and
    /// to the first NumSinks rows.</summary>
    Ring = 1,

    /// <summary>The sequences share NumPages pages of PageSize rows, and take one when they need it.</summary>
    Paged = 2,
}
