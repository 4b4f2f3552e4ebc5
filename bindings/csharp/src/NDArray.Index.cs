// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Heed;

/// <content>Parts of an array by their indices.</content>
public sealed partial class NDArray
{
    /// <summary>The name of the indexers for languages without them: <see cref="Item{T}"/> has the usual one.</summary>
    private const string PartName = "Part";

    /// <summary>A view of the part at some indices of the first axes, without these axes: for an array (2, 3, 4),
    /// array[1] has shape (3, 4), and array[1, -1] has shape (4). Setting it copies an array, or a number, into the
    /// part, as for the other indexer.</summary>
    /// <param name="indices">The indices; negative ones count from the end.</param>
    /// <exception cref="ArgumentException">There are more indices than axes, or an index is out of range
    /// (ArgumentOutOfRangeException).</exception>
    [IndexerName(PartName)]
    public NDArray this[params long[] indices]
    {
        get
        {
            CheckIndices(indices ?? throw new ArgumentNullException(nameof(indices)));
            NativeTensor source = Tensor;
            NDArray part = manager.Adopt(StridedView.At(source, shape, indices).Of(source));
            return Tape.AnyOpen ? WithPart(ShapeGradients.Part, part, PutAt((long[])indices.Clone())) : part;
        }

        set
        {
            CheckIndices(indices ?? throw new ArgumentNullException(nameof(indices)));
            Tape.Refuse("setting a part", this, value);
            NativeTensor written = Tensor;
            Put(written, StridedView.At(written, shape, indices), value);
        }
    }

    /// <summary>A view of a part of the array: array[.., 1..3, ^1]; a copy if there is an array of indices or a mask
    /// among the indices: array[array &lt; 0]. Setting it copies an array into the part; its elements are converted and
    /// repeated as <see cref="CopyTo(NDArray)"/> does, and it may share memory with this array. If an array of indices
    /// names a place more than once, the last element for it stays. Numbers convert to arrays: array[0, ..] = 1.5; they
    /// take the type of this array. Nothing changes if that fails.</summary>
    /// <param name="indices">What is taken of each of the first axes.</param>
    /// <exception cref="ArgumentException">There is no such part (ArgumentOutOfRangeException names the index, the axis
    /// and its size), the value does not fit its shape, this array is of integers, which do not hold a number, or it is a
    /// parameter, which is read-only.</exception>
    [IndexerName(PartName)]
    public NDArray this[params NDIndex[] indices]
    {
        get
        {
            _ = indices ?? throw new ArgumentNullException(nameof(indices));
            NativeTensor source = Tensor;
            IndexedAxes axes = IndexedAxes.Of(source, shape, indices);
            if (axes.Choice is not null)
            {
                return ChosenPart(axes, indices);
            }
            NDArray part = manager.Adopt(axes.View.Of(source));
            return Tape.AnyOpen ? WithPart(ShapeGradients.Part, part, PutAt((NDIndex[])indices.Clone())) : part;
        }

        set
        {
            _ = indices ?? throw new ArgumentNullException(nameof(indices));
            Tape.Refuse("setting a part", this, value);
            NativeTensor written = Tensor;
            IndexedAxes axes = IndexedAxes.Of(written, shape, indices);
            if (axes.Choice is null)
            {
                Put(written, axes.View, value);
            }
            else
            {
                PutChosen(axes, value);
                CountWrite();
            }
        }
    }

    /// <summary>Enumerates the rows, the parts along axis 0: <c>foreach (NDArray row in array)</c>. Each is a view that
    /// belongs to the array's manager: dispose it in the loop, or open a scope of the manager around it.</summary>
    /// <returns>An enumerator of the views array[0], array[1] and so on.</returns>
    /// <exception cref="InvalidOperationException">The array is a scalar, which has no rows.</exception>
    public IEnumerator<NDArray> GetEnumerator() => Shape.IsScalar
        ? throw new InvalidOperationException("the array is a scalar, which has no rows")
        : Rows();

    private IEnumerator<NDArray> Rows()
    {
        for (long row = 0; row < shape.Head; row++)
        {
            yield return this[row];
        }
    }

    private NDArray Flipped(int[] axes)
    {
        var turned = new bool[Shape.Dimension];
        for (int i = 0; i < turned.Length; i++)
        {
            turned[i] = axes.Length == 0;
        }
        foreach (int each in axes)
        {
            int axis = AxisOf(each, turned.Length, nameof(axes));
            turned[axis] = !turned[axis] ? true : throw new ArgumentException(
                $"axes is [{string.Join(", ", axes)}], expected each axis of the shape {shape} at most once", nameof(axes));
        }
        NativeTensor source = Tensor;
        Tape? tape = Tape.For("Flip", this);
        NDArray flipped = manager.Adopt(StridedView.Whole(source, shape).Reversed(turned).Of(source));
        return tape is null ? flipped : tape.Record(ShapeGradients.Flip, flipped, this, arguments: axes.Clone());
    }

    private static Action<NDArray, NDArray> PutAt(long[] indices) => (whole, gradient) => whole[indices] = gradient;

    private static Action<NDArray, NDArray> PutAt(NDIndex[] indices) => (whole, gradient) => whole[indices] = gradient;

    private void Put(NativeTensor written, StridedView part, NDArray value)
    {
        NativeTensor elements = Elements(value);
        bool[] backwards = part.Backwards();
        using NativeTensor target = part.Reversed(backwards).Of(written);
        using NativeTensor source = Alongside(part, backwards, StridedView.Whole(elements, value.shape)).Of(elements);
        try
        {
            MessageSink.WithoutMessages(() =>
            {
                target.Copy(source);
                return true;
            });
        }
        catch (ArgumentException)
        {
            // They may share memory. If that is not why the copy was refused, this one is, too, and says why.
            using NativeTensor copy = value.Converted(source, value.shape, value.dataType);
            target.Copy(copy);
        }
        CountWrite();
    }

    /// <summary>The native array of a value that is set.</summary>
    /// <exception cref="ArgumentException">It is a number that this array's type does not hold.</exception>
    private NativeTensor Elements(NDArray value)
    {
        _ = value ?? throw new ArgumentNullException(nameof(value));
        NativeTensor elements = TensorOf(value, nameof(value))!;
        if (value.IsNumber && dataType.IsInteger())
        {
            NumberTensors.Whole(nameof(value), value.ToScalar(), dataType);
        }
        return elements;
    }

    /// <summary>A value in the order in which the part's elements are written if those axes are turned round.</summary>
    private static StridedView Alongside(StridedView part, bool[] backwards, StridedView value)
    {
        var turned = new bool[value.Dims.Length];
        int missing = part.Dims.Length - turned.Length;
        for (int axis = Math.Max(-missing, 0); axis < turned.Length; axis++)
        {
            turned[axis] = backwards[axis + missing];
        }
        return value.Reversed(turned);
    }

    private void CheckIndices(long[] indices)
    {
        if (indices.Length > Shape.Dimension)
        {
            throw new ArgumentException(
                $"there are {indices.Length} indices for an array of shape {shape}, expected at most "
                + $"{shape.Dimension}",
                nameof(indices));
        }
        for (int axis = 0; axis < indices.Length; axis++)
        {
            CheckIndex(axis, indices[axis]);
        }
    }
}
