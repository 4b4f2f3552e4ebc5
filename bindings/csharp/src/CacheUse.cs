// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>What a call does with the <see cref="KvCache"/> of its inputs.</summary>
public enum CacheUse
{
    /// <summary>The keys and values of the call's rows are appended; then each row attends to all rows of its
    /// sequence.</summary>
    Append = 0,

    /// <summary>The rows attend to the rows of their sequence, which stays as it is. Keys and values must be
    /// null.</summary>
    Read = 1,
}
