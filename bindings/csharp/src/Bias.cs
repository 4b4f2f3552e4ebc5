// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Which projections of multi-head attention add a bias.</summary>
[Flags]
public enum Bias
{
    /// <summary>None of them.</summary>
    None = 0,

    /// <summary>That of the queries.</summary>
    Q = 1,

    /// <summary>That of the keys.</summary>
    K = 2,

    /// <summary>That of the values.</summary>
    V = 4,

    /// <summary>That of the output.</summary>
    O = 8,

    /// <summary>All four.</summary>
    All = 15,
}
