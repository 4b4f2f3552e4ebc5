// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Causal masking, with its alignment named, since the two differ where there are not as many queries as
/// keys.</summary>
public enum Causal
{
    /// <summary>Every key is visible.</summary>
    None = 0,

    /// <summary>Key j is visible to query i where j is at most i.</summary>
    TopLeft = 1,

    /// <summary>Key j of K is visible to query i of Q where j is at most i + K - Q: the last query sees the last
    /// key.</summary>
    BottomRight = 2,
}
