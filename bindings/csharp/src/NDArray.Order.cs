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
        try
        {
            HeedNative.HeedCumulativeSum(a, axis, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    private NDArray SumsOfAll()
    {
        using NativeTensor flat = Reshaped(Tensor, new[] { shape.Size });
        return manager.NewArray(
            new Shape(shape.Size),
            ResultRules.Of(Reduction.Sum, dataType),
            sums => HeedNative.HeedCumulativeSum(flat, 0, sums));
    }

    private NDArray Sorted(int axis, NDArray? values)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(values, nameof(values)) ?? manager.NewArray(shape, dataType);
        try
        {
            HeedNative.HeedSort(a, axis, 0, target.tensor, null);
            return Finished(values, target);
        }
        catch
        {
            Drop(values, target);
            throw;
        }
    }

    private NDArray OrderOf(int axis, bool ascending, NDArray? indices)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(indices, nameof(indices)) ?? manager.NewArray(shape, DataType.Int64);
        try
        {
            HeedNative.HeedSort(a, axis, ascending ? 0 : 1, null, target.tensor);
            return Finished(indices, target);
        }
        catch
        {
            Drop(indices, target);
            throw;
        }
    }

    /// <summary>The first elements in an order, and their indices.</summary>
    private (NDArray Values, NDArray Indices) First(int k, int axis, bool largest)
    {
        NativeTensor a = Tensor;
        Shape first = ResultRules.Replaced(shape, axis, SizeOf(k, nameof(k)));
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

    private NDArray Gathered(NDArray indices, int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor chosen = TensorOf(indices ?? throw new ArgumentNullException(nameof(indices)), nameof(indices))!;
        NDArray target = TargetOf(result)
            ?? manager.NewArray(ResultRules.Gathered(shape, indices.shape, axis), dataType);
        try
        {
            HeedNative.HeedGather(a, chosen, axis, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    private NDArray Taken(NDArray indices, int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor chosen = TensorOf(indices ?? throw new ArgumentNullException(nameof(indices)), nameof(indices))!;
        NDArray target = TargetOf(result)
            ?? manager.NewArray(ResultRules.Replaced(shape, axis, indices.shape.Dims), dataType);
        try
        {
            HeedNative.HeedTake(a, chosen, axis, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    /// <summary>The elements at indices in row-major order.</summary>
    private NDArray TakenOfAll(NDArray indices)
    {
        NativeTensor chosen = TensorOf(indices ?? throw new ArgumentNullException(nameof(indices)), nameof(indices))!;
        using NativeTensor flat = Reshaped(Tensor, new[] { shape.Size });
        return manager.NewArray(indices.shape, dataType, found => HeedNative.HeedTake(flat, chosen, 0, found));
    }

    private NDArray Picked(NDArray indices, int axis)
    {
        _ = TensorOf(indices ?? throw new ArgumentNullException(nameof(indices)), nameof(indices));
        int picked = AxisOf(axis, Shape.Dimension, nameof(axis));
        using NDArray column = indices.Reshape(
            indices.shape.Take(picked).Append(1).Concat(indices.shape.Skip(picked)).ToArray());
        using NDArray found = Gathered(column, picked, null);
        return found.Reshape(ResultRules.Reduced(found.shape, new[] { picked }, false));
    }

    private NDArray OneHotOf(int depth, float onValue, float offValue, DataType type)
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
            return manager.NewArray(shapeOfRows, type, rows => HeedNative.HeedSelect(isPlace, there, elsewhere, rows));
        }
        finally
        {
            numbers.Give();
        }
    }
}
