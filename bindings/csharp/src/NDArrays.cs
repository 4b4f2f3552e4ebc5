// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed;

/// <summary>Functions of several arrays.</summary>
public static partial class NDArrays
{
    private static NDArray Joined(NDList arrays, int axis)
    {
        NDArray first = First(arrays);
        int joined = NDArray.AxisOf(axis, first.Shape.Dimension, nameof(axis));
        long[] dims = first.Shape.ToArray();
        dims[joined] = 0;
        for (int i = 0; i < arrays.Count; i++)
        {
            Shape shape = SameType(arrays, i, first).Shape;
            if (shape.Dimension != dims.Length || shape.Where((size, at) => at != joined && size != dims[at]).Any())
            {
                throw new ArgumentException(
                    $"array {i} of the list has the shape {shape}, array 0 has {first.Shape}, expected the same sizes of "
                    + $"all axes but axis {joined}",
                    nameof(arrays));
            }
            dims[joined] = checked(dims[joined] + shape[joined]);
        }
        NativeTensor[] tensors = arrays.Select(array => array.Tensor).ToArray();
        Tape? tape = Tape.For(JoinNode.Name, arrays);
        NDArray whole =
            first.Manager.NewArray(new Shape(dims), first.DataType, result => Join(tensors, joined, result));
        return tape is null ? whole : tape.Record(whole, new JoinNode(tape, arrays, joined));
    }

    private static unsafe void Join(NativeTensor[] tensors, int axis, NativeTensor result)
    {
        var pointers = new IntPtr[tensors.Length];
        int held = 0;
        try
        {
            foreach (NativeTensor tensor in tensors)
            {
                bool isHeld = false;
                tensor.SafeHandle.Open.DangerousAddRef(ref isHeld);
                pointers[held] = tensor.SafeHandle.DangerousGetHandle();
                held++;
            }
            fixed (IntPtr* first = pointers)
            {
                HeedNative.HeedConcatenate(first, pointers.Length, axis, result);
            }
        }
        catch (ObjectDisposedException error)
        {
            throw Errors.Closed(error);
        }
        finally
        {
            while (held > 0)
            {
                held--;
                tensors[held].SafeHandle.DangerousRelease();
            }
        }
    }

    private static NDArray Stacked(NDList arrays, int axis)
    {
        NDArray first = First(arrays);
        int added = NDArray.AxisOf(axis, first.Shape.Dimension + 1, nameof(axis));
        for (int i = 0; i < arrays.Count; i++)
        {
            Shape shape = SameType(arrays, i, first).Shape;
            if (shape != first.Shape)
            {
                throw new ArgumentException(
                    $"array {i} of the list has the shape {shape}, array 0 has {first.Shape}, expected the same shape",
                    nameof(arrays));
            }
        }
        using var expanded = new NDList(arrays.Select(array => array.ExpandDims(added)));
        return Joined(expanded, added);
    }

    private static NDArray First(NDList arrays) =>
        (arrays ?? throw new ArgumentNullException(nameof(arrays))).Count > 0
            ? arrays.OpenArray(0)
            : throw new ArgumentException("arrays is empty, expected at least one array", nameof(arrays));

    private static NDArray SameType(NDList arrays, int index, NDArray first)
    {
        NDArray array = arrays.OpenArray(index);
        return array.DataType == first.DataType ? array : throw new ArgumentException(
            $"array {index} of the list is of {array.DataType}, array 0 of {first.DataType}, expected the same type: "
            + "ToType converts",
            nameof(arrays));
    }
}
