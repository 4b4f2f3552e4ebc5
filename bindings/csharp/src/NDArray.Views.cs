// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed;

/// <content>Views: the same elements in another shape or order.</content>
public sealed partial class NDArray
{
    private static readonly Shape ScalarShape = new Shape();

    /// <summary>Returns a view of the part at some indices of the first axes, without these axes: for an array (2, 3,
    /// 4), array[1] has shape (3, 4), and array[1, -1] has shape (4).</summary>
    /// <param name="indices">The indices; negative ones count from the end.</param>
    /// <exception cref="ArgumentException">There are more indices than axes, or an index is out of range
    /// (ArgumentOutOfRangeException).</exception>
    public NDArray this[params long[] indices]
    {
        get
        {
            _ = indices ?? throw new ArgumentNullException(nameof(indices));
            if (indices.Length > Shape.Dimension)
            {
                throw new ArgumentException(
                    $"there are {indices.Length} indices for an array of shape {shape}, expected at most "
                    + $"{shape.Dimension}",
                    nameof(indices));
            }
            return manager.Adopt(Select(indices));
        }
    }

    private unsafe NDArray Transposed(int[] axes)
    {
        if (axes.Length != 0 && axes.Length != Shape.Dimension)
        {
            throw new ArgumentException(
                $"there are {axes.Length} axes for an array of shape {shape}, expected {shape.Dimension}",
                nameof(axes));
        }
        fixed (int* order = axes)
        {
            return manager.Adopt(Tensor.Transpose(order));
        }
    }

    private NDArray Swapped(int axis1, int axis2)
    {
        int[] axes = Enumerable.Range(0, Shape.Dimension).ToArray();
        int first = AxisOf(axis1, axes.Length, nameof(axis1));
        int second = AxisOf(axis2, axes.Length, nameof(axis2));
        (axes[first], axes[second]) = (axes[second], axes[first]);
        return Transposed(axes);
    }

    private NDArray Expanded(int axis)
    {
        var dims = Shape.ToList();
        dims.Insert(AxisOf(axis, dims.Count + 1, nameof(axis)), 1);
        return manager.Adopt(ViewOf(Tensor, dims.ToArray()));
    }

    private NDArray Squeezed(int[] axes)
    {
        int[] dropped = axes.Length == 0
            ? Enumerable.Range(0, Shape.Dimension).Where(axis => shape[axis] == 1).ToArray()
            : axes.Select(axis => AxisOf(axis, Shape.Dimension, nameof(axes))).ToArray();
        foreach (int axis in dropped)
        {
            if (shape[axis] != 1)
            {
                throw new ArgumentException(
                    $"axis {axis} of {shape} has the size {shape[axis]}, expected 1", nameof(axes));
            }
        }
        return manager.Adopt(ViewOf(Tensor, shape.Where((_, axis) => !dropped.Contains(axis)).ToArray()));
    }

    private NDArray Repeated(int axis, long repeats)
    {
        int index = AxisOf(axis, Shape.Dimension, nameof(axis));
        if (repeats < 0)
        {
            throw new ArgumentOutOfRangeException(nameof(repeats), $"{repeats}", "expected 0 or more");
        }
        long[] dims = shape.ToArray();
        if (dims[index] > 0 && repeats > long.MaxValue / dims[index])
        {
            throw new ArgumentOutOfRangeException(
                nameof(repeats), $"{repeats}", $"axis {index} of {shape} would have more than 2^63 - 1 elements");
        }
        dims[index] *= repeats;
        long before = new Shape(shape.Take(index + 1).ToArray()).Size;
        long after = new Shape(shape.Skip(index + 1).ToArray()).Size;
        using NativeTensor once = Reshaped(Tensor, new[] { before, 1, after });
        using NativeTensor repeated = Converted(once, new Shape(before, repeats, after), dataType);
        return manager.Adopt(ViewOf(repeated, dims));
    }

    private static unsafe NativeTensor ViewOf(NativeTensor tensor, long[] dims)
    {
        fixed (long* start = dims)
        {
            return tensor.Reshape(dims.Length, start);
        }
    }

    /// <summary>Like NativeTensor.Reshape, but returns null if there is no such view, because an exception would take
    /// longer than most copies.</summary>
    private static unsafe NativeTensor? ViewOrNull(NativeTensor tensor, long[] dims)
    {
        SharedMemory? kept = tensor.SafeHandle.ShareKept();
        try
        {
            fixed (long* start = dims)
            {
                HeedNative.SetQuiet(1);
                PointerResult view = HeedNativePINVOKE.NativeTensor_Reshape(tensor.SafeHandle, dims.Length, start);
                return view.IsUnsupported ? null : new NativeTensor(view.Check(), kept);
            }
        }
        catch (ObjectDisposedException error)
        {
            throw Errors.Closed(error);
        }
        finally
        {
            HeedNative.SetQuiet(0);
            SharedMemory.Release(kept);
        }
    }

    /// <summary>Returns a view of this array if the strides allow one, otherwise of a copy.</summary>
    private NativeTensor Reshaped(NativeTensor tensor, long[] dims)
    {
        NativeTensor? view = ViewOrNull(tensor, dims);
        if (view != null)
        {
            return view;
        }
        using NativeTensor copy = Converted(tensor, shape, dataType);
        return ViewOf(copy, dims);
    }

    /// <summary>Returns a view of the part at some indices of the first axes, without these axes.</summary>
    private NativeTensor Select(long[] indices)
    {
        NativeTensor? part = null;
        try
        {
            for (int axis = 0; axis < indices.Length; axis++)
            {
                CheckIndex(axis, indices[axis]);
                NativeTensor next = (part ?? Tensor).Slice(axis, indices[axis], 1);
                part?.Dispose();
                part = next;
            }
            return ViewOf(part ?? Tensor, shape.Skip(indices.Length).ToArray());
        }
        finally
        {
            part?.Dispose();
        }
    }

    private void CheckIndex(int axis, long index)
    {
        long size = shape[axis];
        if (index < -size || index >= size)
        {
            string expected = size == 0 ? "that axis has no elements" : $"expected {-size} to {size - 1}";
            throw new ArgumentOutOfRangeException(
                "indices", $"{index}", $"index {axis} of {shape} is out of range, {expected}");
        }
    }

    private bool IsRowMajor()
    {
        long expected = 1;
        for (int axis = shape.Dimension - 1; axis >= 0; axis--)
        {
            if (shape[axis] > 1 && Tensor.Stride(axis) != expected)
            {
                return shape.Size == 0;
            }
            expected *= shape[axis];
        }
        return true;
    }
}
