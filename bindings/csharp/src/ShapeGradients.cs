// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Gradients of operations that order, repeat or join elements.</summary>
internal static class ShapeGradients
{
    internal static readonly ArrayOperation Reshape = OfShape("Reshape");
    internal static readonly ArrayOperation ExpandDims = OfShape("ExpandDims");
    internal static readonly ArrayOperation Squeeze = OfShape("Squeeze");

    /// <summary>Also of another type: the gradient takes that of the input.</summary>
    internal static readonly ArrayOperation ToType = new("ToType", (_, g) => g);

    /// <summary>The sum over axes of size 1 that were repeated is what every gradient gets.</summary>
    internal static readonly ArrayOperation Broadcast = new("Broadcast", (_, g) => g);

    /// <summary>Its argument is the order of the axes, none negative; empty: the opposite order.</summary>
    internal static readonly ArrayOperation Transpose = new(
        "Transpose", (node, g) => g.Transpose(Inverse((int[])node.Arguments!)));

    /// <summary>Its argument is the axes.</summary>
    internal static readonly ArrayOperation Flip = new("Flip", (node, g) => g.Flip((int[])node.Arguments!));

    /// <summary>Its argument is a function that writes the gradient into an array of zeros.</summary>
    internal static readonly ArrayOperation Part = new("an index", OfPart);

    internal static readonly ArrayOperation Slice = new("Slice", OfPart);

    /// <summary>Their argument is the shape with the axes that were added, and how often each axis was repeated.</summary>
    internal static readonly ArrayOperation Repeat = new("Repeat", (node, g) => OfRepeated(node, g, 1));

    internal static readonly ArrayOperation Tile = new("Tile", (node, g) => OfRepeated(node, g, 0));

    private static ArrayOperation OfShape(string name) => new(name, (node, g) => g.Reshape(node.Shape(0)));

    private static int[] Inverse(int[] axes)
    {
        var inverse = new int[axes.Length];
        for (int i = 0; i < axes.Length; i++)
        {
            inverse[axes[i] < 0 ? axes[i] + axes.Length : axes[i]] = i;
        }
        return inverse;
    }

    private static NDArray OfPart(OperationNode node, NDArray g)
    {
        NDArray whole = g.Manager.Zeros(node.Shape(0), g.DataType);
        try
        {
            ((Action<NDArray, NDArray>)node.Arguments!)(whole, g);
            return whole;
        }
        catch
        {
            whole.Dispose();
            throw;
        }
    }

    /// <summary>The sum of the copies, axis by axis from the last one. They follow the axis that they are of (1) or
    /// precede it (0).</summary>
    private static NDArray OfRepeated(OperationNode node, NDArray g, int place)
    {
        var (once, repeats) = ((Shape Once, long[] Repeats))node.Arguments!;
        int first = once.Dimension - repeats.Length;
        NDArray sum = g.Shared(g.Manager);
        for (int i = repeats.Length - 1; i >= 0; i--)
        {
            if (repeats[i] != 1)
            {
                using NDArray before = sum;
                sum = SumOfCopies(before, first + i, once[first + i], repeats[i], place);
            }
        }
        using (sum)
        {
            return sum.Reshape(node.Shape(0));
        }
    }

    private static NDArray SumOfCopies(NDArray array, int axis, long size, long times, int place)
    {
        Shape now = array.Shape;
        long before = now.Slice(0, axis).Size;
        long after = now.Slice(axis + 1).Size;
        using NDArray parts = place == 1
            ? array.Reshape(before, size, times, after) : array.Reshape(before, times, size, after);
        using NDArray sums = parts.Sum(new[] { 1 + place });
        return sums.Reshape(ResultRules.Replaced(now, axis, size));
    }
}
