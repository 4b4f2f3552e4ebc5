// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>How the score of a query and a key is computed.</summary>
public enum Scoring
{
    /// <summary>Their dot product, times the scale.</summary>
    DotProduct = 0,

    /// <summary>The dot product of w_v and tanh(query + key), times the scale. The default scale is still 1 / sqrt(head
    /// size): a scale of 1 gives the usual formula.</summary>
    Additive = 1,
}
