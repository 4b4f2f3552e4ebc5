// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The causal mask. The alignment has to be named, because the two alignments differ if Q and K
/// differ.</summary>
public enum Causal
{
    /// <summary>Queries also attend to later keys.</summary>
    None = 0,

    /// <summary>Query i attends to key j if j is at most i.</summary>
    TopLeft = 1,

    /// <summary>Query i of Q attends to key j of K if j is at most i + K - Q: the last query attends to the last
    /// key.</summary>
    BottomRight = 2,
}
