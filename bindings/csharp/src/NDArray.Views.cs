// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed;

/// <content>Views: the same elements in another shape or order.</content>
public sealed partial class NDArray
{
    private static readonly Shape ScalarShape = new Shape();

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
    private NativeTensor Reshaped(NativeTensor tensor, long[] dims) => Reshaped(tensor, shape, dims);

    /// <summary>The same of a native array of another shape.</summary>
    private NativeTensor Reshaped(NativeTensor tensor, Shape present, long[] dims)
    {
        NativeTensor? view = ViewOrNull(tensor, dims);
        if (view != null)
        {
            return view;
        }
        using NativeTensor copy = Converted(tensor, present, dataType);
        return ViewOf(copy, dims);
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
