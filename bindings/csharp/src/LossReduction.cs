// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>How the losses of rows, or of elements, become one number. An item is one index of the first axis.</summary>
public enum LossReduction
{
    /// <summary>Their sum by the number of those that count, as "mean" of PyTorch.</summary>
    Mean = 0,

    /// <summary>Their sum.</summary>
    Sum = 1,

    /// <summary>The sum over items of the mean over all of an item, also those that do not count: the masked loss of DJL
    /// and of d2l, whose vector of items is summed.</summary>
    MeanOfItems = 2,
}
