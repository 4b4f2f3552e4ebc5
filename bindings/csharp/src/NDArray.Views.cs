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
        Tape? tape = Tape.For("Transpose", this);
        NDArray turned;
        fixed (int* order = axes)
        {
            turned = manager.Adopt(Tensor.Transpose(order));
        }
        return tape is null ? turned : tape.Record(ShapeGradients.Transpose, turned, this, arguments: axes.Clone());
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
        return Recorded(ShapeGradients.ExpandDims, ViewOf(Tensor, dims.ToArray()));
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
        long[] dims = shape.Where((_, axis) => !dropped.Contains(axis)).ToArray();
        return Recorded(ShapeGradients.Squeeze, ViewOf(Tensor, dims));
    }

    private NDArray Shaped(long[] dims) => Recorded(ShapeGradients.Reshape, Reshaped(Tensor, dims));

    private NDArray Sliced(int axis, long start, long length)
    {
        NDArray part = manager.Adopt(Tensor.Slice(axis, start, length));
        return Tape.AnyOpen ? WithPart(ShapeGradients.Slice, part, PutSlice(axis, start, length)) : part;
    }

    private static Action<NDArray, NDArray> PutSlice(int axis, long start, long length) => (whole, gradient) =>
    {
        using NDArray target = whole.Slice(axis, start, length);
        gradient.CopyTo(target);
    };

    /// <summary>The array of a new view, or of a copy, of all elements in another shape.</summary>
    private NDArray Recorded(ArrayOperation operation, NativeTensor tensor)
    {
        NDArray made = manager.Adopt(tensor);
        return Tape.AnyOpen && TapeOf(operation, made) is { } tape ? tape.Record(operation, made, this) : made;
    }

    /// <summary>A part of this array. The function writes its gradient to the same part of an array of zeros.</summary>
    private NDArray WithPart(ArrayOperation operation, NDArray part, Action<NDArray, NDArray> put) =>
        TapeOf(operation, part) is { } tape
            ? tape.Record(operation, part, this, arguments: put) : part;

    /// <summary>The tape that an operation on this array is recorded on. Disposes the result if that fails.</summary>
    private Tape? TapeOf(ArrayOperation operation, NDArray made)
    {
        try
        {
            return Tape.For(operation.Name, this);
        }
        catch
        {
            made.Dispose();
            throw;
        }
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
