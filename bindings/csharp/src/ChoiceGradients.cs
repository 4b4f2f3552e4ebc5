// SPDX-License-Identifier: Apache-2.0
using static Heed.ArrayOperation;

namespace Heed;

/// <summary>Gradients of what is chosen by conditions, bounds, lengths or indices.</summary>
internal static class ChoiceGradients
{
    /// <summary>Of the first array, the condition, and the other array.</summary>
    internal static readonly ArrayOperation Where = new(
        "Where",
        (node, g) => g.Where(node.Second, 0),
        Held.Second,
        null,
        Held.None,
        (node, g) => ElementGradients.WithCondition(g, node.Second.LogicalNot()),
        Held.Second);

    /// <summary>Its argument is the bounds.</summary>
    internal static readonly ArrayOperation Clip = new("Clip", OfClipped, Held.First);

    /// <summary>Of the array and the lengths.</summary>
    internal static readonly ArrayOperation SequenceMask = new(
        "SequenceMask", (node, g) => g.SequenceMask(node.Second), Held.Second, null, Held.None);

    /// <summary>Of the array and the indices. Its argument is the axis.</summary>
    internal static readonly ArrayOperation Gather = new("Gather", OfGathered, Held.Second, null, Held.None);

    /// <summary>Of the array and the indices. Its argument is the axis.</summary>
    internal static readonly ArrayOperation Take = new(
        "Take", (node, g) => OfTaken(node.Shape(0), (int)node.Arguments!, node.Second, g), Held.Second, null, Held.None);

    /// <summary>Of the array and the indices or the mask. Its argument is all indices.</summary>
    internal static readonly ArrayOperation Chosen = new("an index", OfChosen, Held.Second, null, Held.None);

    /// <summary>The gradient of an array of which slices were taken along an axis: for each of the slices the sum of those
    /// that were taken of it, added in the order of the indices. A product with a matrix of 0 and 1 would be NaN where a
    /// gradient is infinite, and has an element for each pair.</summary>
    internal static NDArray OfTaken(Shape shape, int axis, NDArray indices, NDArray g)
    {
        long size = shape[axis];
        using NDArray numbers = indices.ToType(DataType.Int64, copy: false);
        long[] places = numbers.ToArray<long>();
        using NDArray parts = g.Reshape(shape.Slice(0, axis).Size, places.Length, shape.Slice(axis + 1).Size);
        NDArray whole = g.Manager.Zeros(shape, g.DataType);
        using NDArray sums = whole.Reshape(shape.Slice(0, axis).Size, size, shape.Slice(axis + 1).Size);
        for (int i = 0; i < places.Length; i++)
        {
            using NDArray sum = sums.Slice(1, places[i] < 0 ? places[i] + size : places[i], 1);
            using NDArray addend = parts.Slice(1, i, 1);
            sum.Add(addend, sum);
        }
        return whole;
    }

    /// <summary>A mask chooses no place twice, so that its gradient is set.</summary>
    private static NDArray OfChosen(OperationNode node, NDArray g)
    {
        NDIndex[] indices = System.Array.ConvertAll(
            (NDIndex[])node.Arguments!, index => index.Array is null ? index : node.Second);
        if (node.Second.DataType != DataType.Boolean)
        {
            return NDArray.SumOfChosen(node.Shape(0), indices, g);
        }
        NDArray whole = g.Manager.Zeros(node.Shape(0), g.DataType);
        whole[indices] = g;
        return whole;
    }

    private static NDArray OfClipped(OperationNode node, NDArray g)
    {
        var (min, max) = ((Scalar Min, Scalar Max))node.Arguments!;
        using NDArray isAbove = node.First.Gte(min);
        using NDArray isBelow = node.First.Lte(max);
        return ElementGradients.WithCondition(g, isAbove.LogicalAnd(isBelow));
    }

    private static NDArray OfGathered(OperationNode node, NDArray g)
    {
        Shape shape = node.Shape(0);
        int axis = (int)node.Arguments!;
        var dims = new long[shape.Dimension + 1];
        for (int i = 0; i < dims.Length; i++)
        {
            dims[i] = i == axis + 1 ? shape[axis] : 1;
        }
        using NDArray columns = node.Second.ExpandDims(axis + 1);
        using NDArray isPlace = IsPlace(columns, shape[axis], new Shape(dims));
        using NDArray each = g.ExpandDims(axis + 1);
        using NDArray spread = each.Where(isPlace, 0);
        return spread.Sum(new[] { axis });
    }

    /// <summary>Where indices, of which negative ones count from the end, are the places of an axis of that size.</summary>
    private static NDArray IsPlace(NDArray indices, long size, Shape places)
    {
        using NDArray isNegative = indices.Lt(0);
        using NDArray fromEnd = indices.Add(size);
        using NDArray fromZero = fromEnd.Where(isNegative, indices);
        using NDArray numbers = indices.Manager.NewArray(
            new Shape(size), indices.DataType, static tensor => tensor.FillArange(0, 1));
        using NDArray axis = numbers.Reshape(places);
        return fromZero.Eq(axis);
    }
}
