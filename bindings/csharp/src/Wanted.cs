// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Which outputs of a block are wanted.</summary>
[Flags]
public enum Wanted
{
    /// <summary>What the block computes.</summary>
    Output = 1,

    /// <summary>The attention weights, before dropout.</summary>
    Weights = 2,

    /// <summary>The natural logarithm of the sum of the exponentials of each query's scores.</summary>
    LogSumExp = 4,
}
