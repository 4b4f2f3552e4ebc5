// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The output of a query that attends to no key.</summary>
public enum EmptyRows
{
    /// <summary>An output of 0 and weights of 0.</summary>
    Zero = 0,

    /// <summary>The mean of all K values, with weights of 1/K, as in d2l-java.</summary>
    Mean = 1,
}
