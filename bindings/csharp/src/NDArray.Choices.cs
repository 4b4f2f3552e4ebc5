// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed;

/// <content>What an array of indices or a mask among the indices chooses: read as a copy, and written in place, as in
/// NumPy.</content>
public sealed partial class NDArray
{
    /// <summary>If so many times more indices are on the axis than are chosen, each part is written by itself.</summary>
    private const int FewChosen = 16;

    private static bool IsMask(NDArray choice) => choice.dataType == DataType.Boolean;

    /// <summary>The sizes of the axes that are chosen from.</summary>
    private static long[] ChosenFrom(IndexedAxes axes) =>
        axes.View.Dims.Skip(axes.ChoiceAxis).Take(IsMask(axes.Choice!) ? axes.Choice!.shape.Dimension : 1).ToArray();

    /// <summary>The shape of the view with other axes in the place of those that are chosen from.</summary>
    private static Shape AroundChoice(IndexedAxes axes, params long[] others)
    {
        long[] dims = axes.View.Dims;
        int end = axes.ChoiceAxis + ChosenFrom(axes).Length;
        return new Shape(dims.Take(axes.ChoiceAxis).Concat(others).Concat(dims.Skip(end)).ToArray());
    }

    /// <summary>What is chosen, as positions from 0 in row-major order of the axes that are chosen from.</summary>
    private static long[] PlacesOf(IndexedAxes axes)
    {
        NDArray choice = axes.Choice!;
        if (IsMask(choice))
        {
            bool[] mask = choice.ToBooleanArray();
            var chosen = new long[mask.Length];
            int count = 0;
            for (int i = 0; i < mask.Length; i++)
            {
                chosen[count] = i;
                count += mask[i] ? 1 : 0;
            }
            Array.Resize(ref chosen, count);
            return chosen;
        }
        long size = ChosenFrom(axes)[0];
        var places = new long[ManagedSize(choice.shape.Size)];
        using (NativeTensor indices = choice.ConvertedOnHost(choice.Tensor, choice.shape, DataType.Int64))
        {
            Read<long>(indices, places);
        }
        for (int i = 0; i < places.Length; i++)
        {
            if (places[i] < -size || places[i] >= size)
            {
                string expected = size == 0 ? "that axis has no elements" : $"expected {-size} to {size - 1}";
                throw new ArgumentOutOfRangeException(
                    "indices",
                    $"{places[i]}",
                    $"the array of indices has it at index {IndexOf(i, choice.shape)} for axis {axes.ChosenAxis} of size "
                    + $"{size}, {expected}");
            }
            places[i] += places[i] < 0 ? size : 0;
        }
        return places;
    }

    /// <summary>The index of an element in row-major order.</summary>
    private static Shape IndexOf(long element, Shape shape)
    {
        var index = new long[shape.Dimension];
        for (int axis = index.Length - 1; axis >= 0; axis--)
        {
            index[axis] = element % shape[axis];
            element /= shape[axis];
        }
        return new Shape(index);
    }

    private static NativeTensor Reversed(NativeTensor tensor, Shape shape, bool[] axes) =>
        StridedView.Whole(tensor, shape).Reversed(axes).Of(tensor);

    private NDArray MaskedBy(NDArray mask, int axis)
    {
        _ = mask ?? throw new ArgumentNullException(nameof(mask));
        int first = AxisOf(axis, Shape.Dimension, nameof(axis));
        return mask.DataType == DataType.Boolean
            ? this[Enumerable.Repeat(NDIndex.Slice(), first).Append(mask).ToArray()]
            : throw new ArgumentException($"mask is of {mask.dataType}, expected Boolean: use ToType", nameof(mask));
    }

    private NDArray ChosenPart(IndexedAxes axes, NDIndex[] indices)
    {
        Tape? tape = Tape.For(ChoiceGradients.Chosen.Name, this);
        NDArray part = ChosenPart(axes);
        return tape is null ? part : tape.Record(
            ChoiceGradients.Chosen, part, this, axes.Choice, arguments: indices.Clone());
    }

    private NDArray ChosenPart(IndexedAxes axes)
    {
        long[] places = PlacesOf(axes);
        using NativeTensor part = axes.View.Of(Tensor);
        NDArray choice = axes.Choice!;
        if (!IsMask(choice))
        {
            return manager.NewArray(
                AroundChoice(axes, choice.shape.Dims),
                dataType,
                found => HeedNative.HeedTake(part, choice.Tensor, axes.ChoiceAxis, found));
        }
        using NativeTensor joined =
            Reshaped(part, new Shape(axes.View.Dims), AroundChoice(axes, choice.shape.Size).Dims);
        using NativeTensor indices = NewTensorOf(places, new Shape(places.Length), DataType.Int64);
        return manager.NewArray(
            AroundChoice(axes, places.Length),
            dataType,
            found => HeedNative.HeedTake(joined, indices, axes.ChoiceAxis, found));
    }

    /// <summary>Writes a value to the chosen places; the last element of it, if some have the same place.</summary>
    private void PutChosen(IndexedAxes axes, NDArray value)
    {
        NativeTensor elements = Elements(value);
        NDArray choice = axes.Choice!;
        // A mask of Boolean elements may be a view of them in another order: its places are read before they are written.
        if (IsMask(choice) && value.IsNumber && dataType != DataType.Boolean
            && choice.manager.Device.Equals(manager.Device))
        {
            PutWhere(axes, elements);
            return;
        }
        long[] places = PlacesOf(axes);
        Shape wanted = value.IsNumber ? ScalarShape
            : AroundChoice(axes, IsMask(choice) ? new long[] { places.Length } : choice.shape.Dims);
        using NativeTensor copy = Converted(elements, wanted, dataType);
        Shape partsShape = value.IsNumber ? ScalarShape : AroundChoice(axes, places.Length);
        using NativeTensor parts = ViewOf(copy, partsShape.Dims);
        bool[] backwards = axes.View.Backwards();
        using NativeTensor target = axes.View.Reversed(backwards).Of(Tensor);
        if (!IsMask(choice) && places.Length > 0 && places.Length < ChosenFrom(axes)[0] / FewChosen)
        {
            PutEach(axes, target, backwards, places, parts, partsShape);
        }
        else
        {
            PutAll(axes, target, backwards, places, parts, partsShape);
        }
    }

    /// <summary>Adds up a gradient of what an array of indices has chosen from an array, in a new array.</summary>
    /// <param name="shape">The shape of the array.</param>
    /// <param name="indices">The indices.</param>
    /// <param name="gradient">The gradient.</param>
    internal static NDArray SumOfChosen(Shape shape, NDIndex[] indices, NDArray gradient)
    {
        NDArray whole = gradient.manager.Zeros(shape, gradient.dataType);
        try
        {
            IndexedAxes axes = IndexedAxes.Of(whole.tensor, shape, indices);
            using NDArray sums = ChoiceGradients.OfTaken(
                new Shape(axes.View.Dims), axes.ChoiceAxis, axes.Choice!, gradient);
            whole.Put(whole.tensor, axes.View, sums);
            return whole;
        }
        catch
        {
            whole.Dispose();
            throw;
        }
    }

    /// <summary>Writes a number where a mask of the same device is true.</summary>
    private void PutWhere(IndexedAxes axes, NativeTensor number)
    {
        NDArray mask = axes.Choice!;
        bool[] backwards = axes.View.Backwards();
        using NativeTensor converted = Converted(number, ScalarShape, dataType);
        using NativeTensor target = axes.View.Reversed(backwards).Of(Tensor);
        Shape conditionShape = ConditionShape(axes);
        using NativeTensor truth = mask.Reshaped(mask.Tensor, conditionShape.Dims);
        using NativeTensor condition = Reversed(truth, conditionShape, backwards);
        HeedNative.HeedSelect(condition, converted, target, target);
    }

    /// <summary>The sizes of the axes that are chosen from, and 1 for the others.</summary>
    private static Shape ConditionShape(IndexedAxes axes)
    {
        int end = axes.ChoiceAxis + ChosenFrom(axes).Length;
        return new Shape(
            axes.View.Dims.Select((dim, axis) => axis >= axes.ChoiceAxis && axis < end ? dim : 1).ToArray());
    }

    private static void PutEach(
        IndexedAxes axes, NativeTensor target, bool[] backwards, long[] places, NativeTensor parts, Shape partsShape)
    {
        int axis = axes.ChoiceAxis;
        var turned = (bool[])backwards.Clone();
        turned[axis] = false;
        using NativeTensor sources = Reversed(parts, partsShape, turned);
        for (int i = 0; i < places.Length; i++)
        {
            long place = backwards[axis] ? ChosenFrom(axes)[0] - 1 - places[i] : places[i];
            using NativeTensor one = target.Slice(axis, place, 1);
            if (partsShape.IsScalar)
            {
                one.Copy(parts);
                continue;
            }
            using NativeTensor source = sources.Slice(axis, i, 1);
            one.Copy(source);
        }
    }

    private void PutAll(
        IndexedAxes axes, NativeTensor target, bool[] backwards, long[] places, NativeTensor parts, Shape partsShape)
    {
        long[] from = ChosenFrom(axes);
        var all = new Shape(axes.View.Dims);
        long size = new Shape(from).Size;
        var isChosen = new bool[size];
        var sources = new long[size];
        for (int i = 0; i < places.Length; i++)
        {
            isChosen[places[i]] = true;
            sources[places[i]] = i;
        }
        Shape conditionShape = ConditionShape(axes);
        using NativeTensor truth = NewTensorOf(isChosen, conditionShape, DataType.Boolean);
        using NativeTensor condition = Reversed(truth, conditionShape, backwards);
        if (places.Length == 0)
        {
            HeedNative.HeedSelect(condition, target, target, target);
            return;
        }
        if (partsShape.IsScalar)
        {
            HeedNative.HeedSelect(condition, parts, target, target);
            return;
        }
        using NativeTensor indices = NewTensorOf(sources, new Shape(from), DataType.Int64);
        using NativeTensor spread = manager.NewTensor(all, dataType);
        HeedNative.HeedTake(parts, indices, axes.ChoiceAxis, spread);
        using NativeTensor elements = Reversed(spread, all, backwards);
        HeedNative.HeedSelect(condition, elements, target, target);
    }

    private unsafe NativeTensor NewTensorOf<T>(T[] elements, Shape made, DataType type)
        where T : unmanaged
    {
        NativeTensor tensor = manager.NewTensor(made, type);
        fixed (T* first = elements)
        {
            tensor.Write(first, (ulong)elements.LongLength * (ulong)sizeof(T));
        }
        return tensor;
    }
}
