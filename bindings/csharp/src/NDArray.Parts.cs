// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed;

/// <content>Dividing an array, and joining it with another one.</content>
public sealed partial class NDArray
{
    private NDList Divided(long sections, int axis)
    {
        int divided = AxisOf(axis, Shape.Dimension, nameof(axis));
        long size = shape[divided];
        if (sections < 1 || sections > int.MaxValue || size % sections != 0)
        {
            throw new ArgumentOutOfRangeException(
                nameof(sections),
                $"{sections}",
                $"expected a divisor of the size {size} of axis {divided}: the array has the shape {shape}");
        }
        long length = size / sections;
        return Divided(Enumerable.Range(1, (int)sections - 1).Select(i => i * length).ToArray(), axis);
    }

    private NDList Divided(long[] indices, int axis)
    {
        int divided = AxisOf(axis, Shape.Dimension, nameof(axis));
        long size = shape[divided];
        long begin = 0;
        for (int i = 0; i < indices.Length; i++)
        {
            begin = indices[i] >= begin && indices[i] <= size ? indices[i] : throw new ArgumentOutOfRangeException(
                nameof(indices),
                $"{indices[i]}",
                $"index {i} is expected from {begin} to {size}: the array has the shape {shape}, and is split along "
                + $"axis {divided}");
        }
        var parts = new NDList(indices.Length + 1);
        begin = 0;
        foreach (long end in indices.Append(size))
        {
            parts.Add(Slice(divided, begin, end - begin));
            begin = end;
        }
        return parts;
    }

    private NDList PairWith(NDArray array)
    {
        _ = array ?? throw new ArgumentNullException(nameof(array));
        CheckOpen();
        return new NDList(this, OpenArgument(array, nameof(array)));
    }
}
