// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The output of a query without a visible key.</summary>
public enum EmptyRows
{
    /// <summary>Output and weights are 0.</summary>
    Zero = 0,

    /// <summary>The mean of all K values, with weights 1/K: what d2l-java's masked softmax gives.</summary>
    Mean = 1,
}
