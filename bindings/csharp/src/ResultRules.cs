// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The types and shapes of results, by the rules of section 6.9 of heed.h. Of inputs that do not go together
/// they say any type, and a shape that takes little memory, because C refuses the call.</summary>
internal static class ResultRules
{
    /// <summary>The common type of two inputs.</summary>
    internal static DataType Common(DataType a, DataType b) => RankOf(a) >= RankOf(b) ? a : b;

    /// <summary>Whether a function takes elements of any type as true or false.</summary>
    internal static bool TakesTruth(ElementFunction function) =>
        function is >= ElementFunction.LogicalAnd and <= ElementFunction.LogicalNot;

    internal static DataType Of(ElementFunction function, DataType common) =>
        TakesTruth(function) || function >= ElementFunction.IsNaN ? DataType.Boolean
            : function >= ElementFunction.Sqrt && !common.IsFloating() ? DataType.Float32 : common;

    internal static DataType Of(Reduction reduction, DataType type) => reduction switch
    {
        Reduction.ArgMax or Reduction.ArgMin => DataType.Int64,
        Reduction.Mean or Reduction.Norm => type.IsFloating() ? type : DataType.Float32,
        Reduction.Sum or Reduction.Prod => type.IsFloating() ? type : DataType.Int64,
        _ => type,
    };

    /// <summary>The shape to which two inputs are broadcast.</summary>
    internal static Shape Broadcast(Shape a, Shape b)
    {
        if (a.Equals(b))
        {
            return a;
        }
        Shape longer = a.Dimension >= b.Dimension ? a : b;
        Shape shorter = a.Dimension >= b.Dimension ? b : a;
        int missing = longer.Dimension - shorter.Dimension;
        var dims = (long[])longer.Dims.Clone();
        for (int axis = missing; axis < dims.Length; axis++)
        {
            long size = shorter[axis - missing];
            if (dims[axis] != size && dims[axis] != 1 && size != 1)
            {
                return new Shape();
            }
            dims[axis] = dims[axis] == 1 ? size : dims[axis];
        }
        return new Shape(dims);
    }

    /// <summary>The shape without the axes that are reduced, or with 1 in their places; null: all axes.</summary>
    internal static Shape Reduced(Shape shape, int[]? axes, bool keepDims)
    {
        var isReduced = new bool[shape.Dimension];
        int count = axes?.Length ?? isReduced.Length;
        for (int i = 0; i < count; i++)
        {
            int axis = axes is null ? i : axes[i] < 0 ? axes[i] + isReduced.Length : axes[i];
            if (axis < 0 || axis >= isReduced.Length || isReduced[axis])
            {
                return new Shape();
            }
            isReduced[axis] = true;
        }
        var dims = new long[keepDims ? isReduced.Length : isReduced.Length - count];
        int next = 0;
        for (int axis = 0; axis < isReduced.Length; axis++)
        {
            if (keepDims || !isReduced[axis])
            {
                dims[next++] = isReduced[axis] ? 1 : shape[axis];
            }
        }
        return new Shape(dims);
    }

    /// <summary>The shape with other axes in the place of one.</summary>
    internal static Shape Replaced(Shape shape, int axis, params long[] others)
    {
        int at = axis < 0 ? axis + shape.Dimension : axis;
        if (at < 0 || at >= shape.Dimension)
        {
            return new Shape();
        }
        var dims = new long[shape.Dimension - 1 + others.Length];
        Array.Copy(shape.Dims, dims, at);
        others.CopyTo(dims, at);
        Array.Copy(shape.Dims, at + 1, dims, at + others.Length, shape.Dimension - at - 1);
        return new Shape(dims);
    }

    /// <summary>The shape of what indices of the same rank choose along an axis.</summary>
    internal static Shape Gathered(Shape shape, Shape indices, int axis)
    {
        int at = axis < 0 ? axis + shape.Dimension : axis;
        return at >= 0 && at < shape.Dimension && shape.Dimension == indices.Dimension
            ? Replaced(shape, at, indices[at]) : new Shape();
    }

    /// <summary>The wider float, the float, or the wider integer ranks higher.</summary>
    private static int RankOf(DataType type) => type switch
    {
        DataType.Float64 => 4,
        DataType.Float32 => 3,
        DataType.Float16 or DataType.BFloat16 => 2,
        DataType.Int64 => 1,
        _ => 0,
    };
}
