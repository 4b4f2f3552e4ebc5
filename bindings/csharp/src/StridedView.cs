// SPDX-License-Identifier: Apache-2.0
using System.Linq;

namespace Heed;

/// <summary>Some elements of an array in some order: sizes and strides of the view's axes, and where its first element
/// is, counted from the array's. <see cref="Of"/> makes the native view.</summary>
internal readonly struct StridedView
{
    private readonly long[] strides;
    private readonly long offset;

    internal StridedView(long[] dims, long[] strides, long offset)
    {
        Dims = dims;
        this.strides = strides;
        this.offset = offset;
    }

    /// <summary>The sizes of the axes, for callers that do not change them.</summary>
    internal long[] Dims { get; }

    /// <summary>All elements of a native array of this shape, as they are.</summary>
    internal static StridedView Whole(NativeTensor tensor, Shape shape) =>
        new StridedView(shape.Dims, StridesOf(tensor, shape.Dimension), 0);

    /// <summary>The part at some indices of the first axes, each of which exists, without these axes.</summary>
    internal static StridedView At(NativeTensor tensor, Shape shape, long[] indices)
    {
        long[] steps = StridesOf(tensor, shape.Dimension);
        long offset = 0;
        for (int axis = 0; axis < indices.Length; axis++)
        {
            offset += steps[axis] * (indices[axis] < 0 ? indices[axis] + shape[axis] : indices[axis]);
        }
        return new StridedView(
            shape.Dims.Skip(indices.Length).ToArray(), steps.Skip(indices.Length).ToArray(), offset);
    }

    internal static long[] StridesOf(NativeTensor tensor, int rank)
    {
        var strides = new long[rank];
        for (int axis = 0; axis < rank; axis++)
        {
            strides[axis] = tensor.Stride(axis);
        }
        return strides;
    }

    /// <summary>The same elements in the opposite order along some axes.</summary>
    internal StridedView Reversed(bool[] axes)
    {
        var turned = (long[])strides.Clone();
        long first = offset;
        for (int axis = 0; axis < turned.Length; axis++)
        {
            if (axes[axis] && Dims[axis] > 1)
            {
                turned[axis] = -strides[axis];
                first += (Dims[axis] - 1) * strides[axis];
            }
        }
        return new StridedView(Dims, turned, first);
    }

    /// <summary>The axes along which the elements stand in memory from the last to the first.</summary>
    internal bool[] Backwards()
    {
        var axes = new bool[Dims.Length];
        for (int axis = 0; axis < axes.Length; axis++)
        {
            axes[axis] = Dims[axis] > 1 && strides[axis] < 0;
        }
        return axes;
    }

    internal unsafe NativeTensor Of(NativeTensor tensor)
    {
        fixed (long* sizes = Dims, steps = strides)
        {
            return tensor.View(Dims.Length, sizes, steps, offset);
        }
    }
}
