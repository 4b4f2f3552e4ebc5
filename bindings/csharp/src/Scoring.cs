// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>How a query and a key are scored.</summary>
public enum Scoring
{
    /// <summary>Their product, times the scale.</summary>
    DotProduct = 0,

    /// <summary>The product of w_v and tanh(query + key), times the scale, whose default is still 1 / sqrt(head
    /// size): a scale of 1 gives the plain formula.</summary>
    Additive = 1,
}
