// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>HEED_REDUCE_... of heed.h.</summary>
internal enum Reduction
{
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    Norm,
    ArgMax,
    ArgMin,
}
