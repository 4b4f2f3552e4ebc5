// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>Finds the view of an array that some <see cref="NDIndex"/> name, axis by axis. Of an array of indices or a
/// mask, it has the axes that they choose from.</summary>
internal sealed class IndexedAxes
{
    private readonly Shape shape;
    private readonly NDIndex[] indices;
    private readonly long[] steps;
    private readonly List<long> dims = new();
    private readonly List<long> strides = new();

    /// <summary>The next axis of the array.</summary>
    private int axis;
    private long offset;

    private IndexedAxes(NativeTensor tensor, Shape shape, NDIndex[] indices)
    {
        this.shape = shape;
        this.indices = indices;
        steps = StridedView.StridesOf(tensor, shape.Dimension);
    }

    internal StridedView View => new StridedView(dims.ToArray(), strides.ToArray(), offset);

    /// <summary>The array of indices or the mask among the indices; null without one.</summary>
    internal NDArray? Choice { get; private set; }

    /// <summary>The first axis of the view that it chooses from.</summary>
    internal int ChoiceAxis { get; private set; }

    /// <summary>The same axis of the array.</summary>
    internal int ChosenAxis { get; private set; }

    internal static IndexedAxes Of(NativeTensor tensor, Shape shape, NDIndex[] indices)
    {
        int whole = shape.Dimension - indices.Sum(index => index.NumAxes);
        if (whole < 0)
        {
            throw new ArgumentException(
                $"there are {shape.Dimension - whole} indices for an array of shape {shape}, expected at most "
                + $"{shape.Dimension}",
                nameof(indices));
        }
        if (indices.Count(index => index.Kind == IndexKind.Ellipsis) > 1)
        {
            throw new ArgumentException(
                $"indices is [{string.Join(", ", indices)}], expected Ellipsis at most once", nameof(indices));
        }
        if (indices.Count(index => index.Kind == IndexKind.Array) > 1)
        {
            throw new ArgumentException(
                $"indices is [{string.Join(", ", indices)}], expected one array of indices or one mask at most",
                nameof(indices));
        }
        var axes = new IndexedAxes(tensor, shape, indices);
        for (int i = 0; i < indices.Length; i++)
        {
            axes.Take(i, whole);
        }
        axes.TakeWhole(shape.Dimension - axes.axis);
        if (axes.Choice is not null && axes.IsApart())
        {
            axes.MoveChoiceToFront();
        }
        return axes;
    }

    /// <summary>Whether a range, an ellipsis or a new axis is between the array and a number: then NumPy puts the array's
    /// axes first.</summary>
    private bool IsApart()
    {
        int[] places = Enumerable.Range(0, indices.Length)
            .Where(i => indices[i].Kind is IndexKind.Index or IndexKind.Array).ToArray();
        return places[places.Length - 1] - places[0] + 1 != places.Length;
    }

    private void MoveChoiceToFront()
    {
        int count = indices.Single(index => index.Kind == IndexKind.Array).NumAxes;
        foreach (List<long> each in new[] { dims, strides })
        {
            List<long> chosen = each.GetRange(ChoiceAxis, count);
            each.RemoveRange(ChoiceAxis, count);
            each.InsertRange(0, chosen);
        }
        ChoiceAxis = 0;
    }

    private void Take(int i, int whole)
    {
        switch (indices[i].Kind)
        {
            case IndexKind.Index:
                TakeIndex(i);
                break;
            case IndexKind.Range:
                TakeRange(i);
                break;
            case IndexKind.Ellipsis:
                TakeWhole(whole);
                break;
            case IndexKind.Array:
                TakeChoice(indices[i]);
                break;
            default:
                Add(1, 1);
                break;
        }
    }

    private void TakeWhole(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Add(shape[axis], steps[axis]);
            axis++;
        }
    }

    private void TakeChoice(NDIndex index)
    {
        Choice = index.Array!;
        ChoiceAxis = dims.Count;
        ChosenAxis = axis;
        Shape chosen = shape.Slice(axis, axis + index.NumAxes);
        if (index.IsMask && Choice.Shape != chosen)
        {
            throw new ArgumentException(
                $"the mask has the shape {Choice.Shape}, expected {chosen}, the sizes of the axes from {axis} on: the "
                + $"array has the shape {shape}",
                nameof(indices));
        }
        TakeWhole(index.NumAxes);
    }

    private void TakeIndex(int i)
    {
        long size = shape[axis];
        long index = indices[i].Begin.FromZero(size);
        if (index < 0 || index >= size)
        {
            throw Outside(i, size == 0 ? "but that axis has no elements" : $"expected {-size} to {size - 1}");
        }
        offset += index * steps[axis];
        axis++;
    }

    private void TakeRange(int i)
    {
        NDIndex range = indices[i];
        long size = shape[axis];
        bool forwards = range.Step > 0;

        // A range that runs backwards begins at an index, and may end before the first one.
        long begin = Checked(i, range.Begin, forwards ? 0 : size - 1, forwards);
        long end = Checked(i, range.End, forwards ? size : -1, forwards);
        if (forwards ? begin > end : begin < end)
        {
            throw Outside(i, $"expected an end at or {(forwards ? "after" : "before")} its begin");
        }
        long count = begin == end ? 0 : 1 + ((end - begin - (forwards ? 1 : -1)) / range.Step);
        offset += count == 0 ? 0 : begin * steps[axis];
        Add(count, count > 1 ? range.Step * steps[axis] : steps[axis]);
        axis++;
    }

    private void Add(long size, long stride)
    {
        dims.Add(size);
        strides.Add(stride);
    }

    /// <summary>An end of a range, from 0.</summary>
    private long Checked(int i, Bound bound, long missing, bool forwards)
    {
        if (!bound.IsThere)
        {
            return missing;
        }
        long size = shape[axis];
        long last = forwards ? size : size - 1;
        long index = bound.FromZero(size);
        return index >= 0 && index <= last ? index : throw Outside(
            i, last < 0 ? "but that axis has no elements" : $"expected its ends from {-size} to {last}");
    }

    private ArgumentOutOfRangeException Outside(int i, string expected) => new ArgumentOutOfRangeException(
        nameof(indices),
        $"{indices[i]}",
        $"index {i} is for axis {axis} of size {shape[axis]}, {expected}: the array has the shape {shape}");
}
