// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>HEED_COMPARE_... of heed.h.</summary>
internal enum Comparison
{
    Eq,
    Neq,
    Lt,
    Lte,
    Gt,
    Gte,
}
