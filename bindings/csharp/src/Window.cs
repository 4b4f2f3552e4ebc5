// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A sliding window: query i attends to key j if p - left &lt;= j &lt;= p + right, where p is the query's
/// position. A negative left or right is unlimited.</summary>
public enum Window
{
    /// <summary>Queries attend to all keys.</summary>
    None = 0,

    /// <summary>The position p is i.</summary>
    TopLeft = 1,

    /// <summary>The position p is i + K - Q, with Q queries and K keys.</summary>
    BottomRight = 2,
}
