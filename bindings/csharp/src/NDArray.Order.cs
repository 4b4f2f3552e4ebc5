// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;

namespace Heed;

/// <content>Sums along an axis, sorting, and choosing elements by indices.</content>
public sealed partial class NDArray
{
    private static long SizeOf(int size, string name) =>
        size >= 0 ? size : throw new ArgumentOutOfRangeException(name, $"{size}", "expected 0 or more");

    private NDArray Sums(int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(result) ?? manager.NewArray(shape, ResultRules.Of(Reduction.Sum, dataType));
        return Into(
            result, target, (A: a, Axis: axis), static (of, sums) => HeedNative.HeedCumulativeSum(of.A, of.Axis, sums));
    }

    private NDArray SumsOfAll(NDArray? result)
    {
        using NativeTensor flat = Reshaped(Tensor, new[] { shape.Size });
        NDArray target = TargetOf(result)
            ?? manager.NewArray(new Shape(shape.Size), ResultRules.Of(Reduction.Sum, dataType));
        return Into(result, target, flat, static (all, sums) => HeedNative.HeedCumulativeSum(all, 0, sums));
    }

    private NDArray Sorted(int axis, NDArray? values)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(values, nameof(values)) ?? manager.NewArray(shape, dataType);
        return Into(
            values, target, (A: a, Axis: axis), static (of, sorted) => HeedNative.HeedSort(of.A, of.Axis, 0, sorted, null));
    }

    private NDArray OrderOf(int axis, bool ascending, NDArray? indices)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(indices, nameof(indices)) ?? manager.NewArray(shape, DataType.Int64);
        return Into(
            indices,
            target,
            (A: a, Axis: axis, Descending: ascending ? 0 : 1),
            static (of, order) => HeedNative.HeedSort(of.A, of.Axis, of.Descending, null, order));
    }

    /// <summary>The first elements in an order, and their indices.</summary>
    private (NDArray Values, NDArray Indices) First(int k, int axis, bool largest)
    {
        NativeTensor a = Tensor;
        Shape first = ShapeOfFirst(k, axis);
        NDArray? values = null;
        NDArray? indices = null;
        try
        {
            values = manager.NewArray(first, dataType);
            indices = manager.NewArray(first, DataType.Int64);
            HeedNative.HeedTopK(a, axis, largest ? 1 : 0, values.tensor, indices.tensor);
            return (values, indices);
        }
        catch
        {
            values?.Dispose();
            indices?.Dispose();
            throw;
        }
    }

    private (NDArray Values, NDArray Indices) First(int k, int axis, bool largest, NDArray values, NDArray indices)
    {
        NativeTensor a = Tensor;
        _ = values ?? throw new ArgumentNullException(nameof(values));
        _ = indices ?? throw new ArgumentNullException(nameof(indices));
        _ = TensorOf(values, nameof(values));
        _ = TensorOf(indices, nameof(indices));
        CheckShape(values, ShapeOfFirst(k, axis), nameof(values));
        NDArray elements = TargetOf(values)!;
        NDArray places = TargetOf(indices)!;
        try
        {
            HeedNative.HeedTopK(a, axis, largest ? 1 : 0, elements.tensor, places.tensor);
        }
        catch
        {
            Drop(values, elements);
            Drop(indices, places);
            throw;
        }
        return (Finished(values, elements), Finished(indices, places));
    }

    private Shape ShapeOfFirst(int k, int axis)
    {
        int along = AxisOf(axis, Shape.Dimension, nameof(axis));
        return k >= 0 && k <= shape[along] ? ResultRules.Replaced(shape, along, k) : throw new ArgumentOutOfRangeException(
            nameof(k), $"{k}", $"expected 0 to {shape[along]}, the size of axis {along}: the array has the shape {shape}");
    }

    private NDArray Gathered(NDArray indices, int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor chosen = TensorOf(indices ?? throw new ArgumentNullException(nameof(indices)), nameof(indices))!;
        Tape? tape = Tape.ForNew(ChoiceGradients.Gather, result, this, indices);
        NDArray target = TargetOf(result)
            ?? manager.NewArray(ResultRules.Gathered(shape, indices.shape, axis), dataType);
        NDArray made = Into(
            result,
            target,
            (A: a, Chosen: chosen, Axis: axis),
            static (of, found) => HeedNative.HeedGather(of.A, of.Chosen, of.Axis, found));
        return tape is null ? made : tape.Record(
            ChoiceGradients.Gather, made, this, indices, arguments: AxisOf(axis, shape.Dimension, nameof(axis)));
    }

    private NDArray Taken(NDArray indices, int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor chosen = TensorOf(indices ?? throw new ArgumentNullException(nameof(indices)), nameof(indices))!;
        Tape? tape = Tape.ForNew(ChoiceGradients.Take, result, this, indices);
        NDArray target = TargetOf(result)
            ?? manager.NewArray(ResultRules.Replaced(shape, axis, indices.shape.Dims), dataType);
        NDArray made = Into(
            result,
            target,
            (A: a, Chosen: chosen, Axis: axis),
            static (of, found) => HeedNative.HeedTake(of.A, of.Chosen, of.Axis, found));
        return tape is null ? made : tape.Record(
            ChoiceGradients.Take, made, this, indices, arguments: AxisOf(axis, shape.Dimension, nameof(axis)));
    }

    /// <summary>The elements at indices in row-major order.</summary>
    private NDArray TakenOfAll(NDArray indices, NDArray? result)
    {
        NativeTensor chosen = TensorOf(indices ?? throw new ArgumentNullException(nameof(indices)), nameof(indices))!;
        if (Tape.ForNew(ChoiceGradients.Take, result, this, indices) != null)
        {
            using NDArray all = Flatten();
            return all.Take(indices, 0);
        }
        using NativeTensor flat = Reshaped(Tensor, new[] { shape.Size });
        NDArray target = TargetOf(result) ?? manager.NewArray(indices.shape, dataType);
        return Into(
            result,
            target,
            (All: flat, Chosen: chosen),
            static (of, found) => HeedNative.HeedTake(of.All, of.Chosen, 0, found));
    }

    private NDArray Picked(NDArray indices, int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor chosen = TensorOf(indices ?? throw new ArgumentNullException(nameof(indices)), nameof(indices))!;
        int picked = AxisOf(axis, Shape.Dimension, nameof(axis));
        long[] columnDims = indices.shape.Take(picked).Append(1).Concat(indices.shape.Skip(picked)).ToArray();
        Shape without = ResultRules.Reduced(shape, new[] { picked }, false);
        _ = TensorOf(result, nameof(result));
        CheckShape(result, without);
        if (Tape.ForNew(ChoiceGradients.Gather, result, this, indices) != null)
        {
            using NDArray columns = indices.Reshape(columnDims);
            using NDArray kept = Gather(columns, picked);
            return kept.Squeeze(picked);
        }
        using NativeTensor column = indices.Reshaped(chosen, columnDims);
        NDArray target = TargetOf(result) ?? manager.NewArray(without, dataType);
        return Into(
            result,
            target,
            (A: a, Column: column, Axis: picked, Place: ResultRules.Replaced(shape, picked, 1).Dims),
            static (of, found) =>
            {
                using NativeTensor place = ViewOf(found, of.Place);
                HeedNative.HeedGather(of.A, of.Column, of.Axis, place);
            });
    }

    private NDArray OneHotOf(int depth, float onValue, float offValue, DataType type, NDArray? result)
    {
        NativeTensor a = Tensor;
        long size = SizeOf(depth, nameof(depth));
        var shapeOfRows = new Shape(shape.Append(size).ToArray());
        using NativeTensor places = manager.NewTensor(new Shape(size), DataType.Float64);
        places.FillArange(0, 1);
        using NativeTensor column = Reshaped(a, shape.Append(1).ToArray());
        using NativeTensor isPlace = manager.NewTensor(shapeOfRows, DataType.Boolean);
        HeedNative.HeedCompare((int)Comparison.Eq, column, places, isPlace);
        NumberTensors numbers = NumberTensors.Take();
        try
        {
            NativeTensor there = numbers.Of(manager, nameof(onValue), onValue, type);
            NativeTensor elsewhere = numbers.Second.Of(manager, nameof(offValue), offValue, type);
            NDArray target = TargetOf(result) ?? manager.NewArray(shapeOfRows, type);
            return Into(
                result,
                target,
                (IsPlace: isPlace, There: there, Elsewhere: elsewhere),
                static (of, rows) => HeedNative.HeedSelect(of.IsPlace, of.There, of.Elsewhere, rows));
        }
        finally
        {
            numbers.Give();
        }
    }
}
