// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Which projections of multi-head attention add a bias.</summary>
[Flags]
public enum Bias
{
    /// <summary>No projection.</summary>
    None = 0,

    /// <summary>The projection of the queries.</summary>
    Q = 1,

    /// <summary>The projection of the keys.</summary>
    K = 2,

    /// <summary>The projection of the values.</summary>
    V = 4,

    /// <summary>The projection of the output.</summary>
    O = 8,

    /// <summary>All four projections.</summary>
    All = 15,
}
