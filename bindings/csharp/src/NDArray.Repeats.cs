// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed;

/// <content>Repeating an array along its axes.</content>
public sealed partial class NDArray
{
    private NDArray RepeatedAlong(RepeatOrder order, int axis, long repeats)
    {
        long[] times = Enumerable.Repeat(1L, Shape.Dimension).ToArray();
        times[AxisOf(axis, times.Length, nameof(axis))] = repeats;
        return RepeatedAlong(order, times);
    }

    /// <summary>The array, repeated along each of its axes; a scalar as if it had one axis.</summary>
    private NDArray RepeatedAlong(RepeatOrder order, long repeats) =>
        RepeatedAlong(order, Enumerable.Repeat(repeats, Math.Max(Shape.Dimension, 1)).ToArray());

    /// <summary>The array, repeated until it has a shape; first axes that the shape lacks stay as they are.</summary>
    private NDArray RepeatedTo(RepeatOrder order, Shape desiredShape)
    {
        int missing = Shape.Dimension - desiredShape.Dimension;
        Shape wanted = missing > 0 ? shape.Slice(0, missing).AddAll(desiredShape) : desiredShape;
        var times = new long[wanted.Dimension];
        for (int axis = 0; axis < times.Length; axis++)
        {
            int own = axis - Math.Max(-missing, 0);
            long size = own < 0 ? 1 : shape[own];
            bool fits = size == 0 ? wanted[axis] == 0 : wanted[axis] % size == 0;
            if (!fits || (missing < 0 && order == RepeatOrder.Parts))
            {
                throw new ArgumentException(
                    $"desiredShape is {desiredShape}, expected multiples of the sizes of the array's shape {shape}"
                    + (order == RepeatOrder.Parts ? " and no more axes" : string.Empty),
                    nameof(desiredShape));
            }
            times[axis] = size == 0 ? 1 : wanted[axis] / size;
        }
        return RepeatedAlong(order, times);
    }

    /// <summary>The array, repeated along its last axes, with a number for each of them. As in NumPy, axes of size 1 are
    /// added before those of the array.</summary>
    private NDArray RepeatedAlong(RepeatOrder order, long[] repeats)
    {
        int added = Math.Max(repeats.Length - Shape.Dimension, 0);
        var now = new Shape(Enumerable.Repeat(1L, added).Concat(shape).ToArray());
        Shape once = now;
        ArrayOperation operation = order == RepeatOrder.Parts ? ShapeGradients.Repeat : ShapeGradients.Tile;
        Tape? tape = Tape.For(operation.Name, this);
        NativeTensor made = Reshaped(Tensor, now.Dims);
        try
        {
            for (int i = 0; i < repeats.Length; i++)
            {
                using NativeTensor before = made;
                made = Spread(before, ref now, order, now.Dimension - repeats.Length + i, repeats[i]);
            }
            bool isCopy = repeats.Any(times => times != 1);
            NDArray repeated = manager.Adopt(isCopy ? ViewOf(made, now.Dims) : Converted(made, now, dataType));
            return tape is null
                ? repeated : tape.Record(operation, repeated, this, arguments: (once, (long[])repeats.Clone()));
        }
        finally
        {
            made.Dispose();
        }
    }

    private NativeTensor Spread(NativeTensor source, ref Shape now, RepeatOrder order, int axis, long repeats)
    {
        if (repeats < 0)
        {
            throw new ArgumentOutOfRangeException(nameof(repeats), $"{repeats}", "expected 0 or more");
        }
        long[] dims = now.ToArray();
        if (dims[axis] > 0 && repeats > long.MaxValue / dims[axis])
        {
            throw new ArgumentOutOfRangeException(
                nameof(repeats), $"{repeats}", $"axis {axis} of {now} would have more than 2^63 - 1 elements");
        }
        dims[axis] *= repeats;
        int at = order == RepeatOrder.Tiles ? axis : axis + 1;
        long before = now.Slice(0, at).Size;
        long after = now.Slice(at).Size;
        Shape present = now;
        now = new Shape(dims);
        if (repeats == 1)
        {
            return ViewOf(source, dims);
        }
        using NativeTensor once = Reshaped(source, present, new[] { before, 1, after });
        using NativeTensor copies = Converted(once, new Shape(before, repeats, after), dataType);
        return ViewOf(copies, dims);
    }
}
