// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>A sliding window: key j is visible to query i where p - left &lt;= j &lt;= p + right. A negative left or
/// right is unlimited.</summary>
public enum Window
{
    /// <summary>Every key is visible.</summary>
    None = 0,

    /// <summary>p is i.</summary>
    TopLeft = 1,

    /// <summary>p is i + K - Q, with Q queries and K keys.</summary>
    BottomRight = 2,
}
