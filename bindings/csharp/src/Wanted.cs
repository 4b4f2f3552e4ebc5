// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The outputs of a block that are requested.</summary>
[Flags]
public enum Wanted
{
    /// <summary>The output of the block.</summary>
    Output = 1,

    /// <summary>The attention weights, before dropout.</summary>
    Weights = 2,

    /// <summary>The natural logarithm of the sum of the exponentials of each query's scores.</summary>
    LogSumExp = 4,
}
