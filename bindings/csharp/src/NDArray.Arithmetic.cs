// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Functions of elements, comparisons and choices.</content>
public sealed partial class NDArray
{
    /// <summary>A function of a number and an array, for operators.</summary>
    private static NDArray OfNumber(ElementFunction function, Scalar a, NDArray b) =>
        (b ?? throw new ArgumentNullException(nameof(b))).WithNumber(function, a, true, null);

    /// <summary>The type of a number beside an array: the array's, but any type in which one computes where C refuses
    /// the array.</summary>
    private static DataType TypeOfNumber(DataType type) =>
        type is DataType.Boolean or DataType.Int8 or DataType.UInt8 ? DataType.Float32 : type;

    private NDArray Elementwise(ElementFunction function, NDArray other, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor b = TensorOf(other ?? throw new ArgumentNullException(nameof(other)), nameof(other))!;
        NDArray target = TargetOf(result) ?? manager.NewArray(
            ResultRules.Broadcast(shape, other.shape),
            ResultRules.Of(function, ResultRules.Common(dataType, other.dataType)));
        try
        {
            HeedNative.HeedElementwise((int)function, a, b, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    private NDArray Elementwise(ElementFunction function, NDArray? result)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(result) ?? manager.NewArray(shape, ResultRules.Of(function, dataType));
        try
        {
            HeedNative.HeedElementwise((int)function, a, null, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    private NDArray Elementwise(ElementFunction function, Scalar other, NDArray? result) =>
        WithNumber(function, other, false, result);

    private NDArray WithNumber(ElementFunction function, Scalar number, bool isFirst, NDArray? result)
    {
        NativeTensor a = Tensor;
        NumberTensors numbers = NumberTensors.Take();
        NDArray? target = null;
        try
        {
            NativeTensor b = numbers.Of(manager, isFirst ? "number" : "other", number, TypeOfNumber(dataType));
            target = TargetOf(result) ?? manager.NewArray(shape, ResultRules.Of(function, dataType));
            HeedNative.HeedElementwise((int)function, isFirst ? b : a, isFirst ? a : b, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
        finally
        {
            numbers.Give();
        }
    }

    private NDArray Compared(Comparison comparison, NDArray other, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor b = TensorOf(other ?? throw new ArgumentNullException(nameof(other)), nameof(other))!;
        NDArray target = TargetOf(result)
            ?? manager.NewArray(ResultRules.Broadcast(shape, other.shape), DataType.Boolean);
        try
        {
            HeedNative.HeedCompare((int)comparison, a, b, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    private NDArray Compared(Comparison comparison, Scalar other, NDArray? result)
    {
        NativeTensor a = Tensor;
        NumberTensors numbers = NumberTensors.Take();
        NDArray? target = null;
        try
        {
            NativeTensor b = numbers.Of(manager, nameof(other), other, TypeOfNumber(dataType));
            target = TargetOf(result) ?? manager.NewArray(shape, DataType.Boolean);
            HeedNative.HeedCompare((int)comparison, a, b, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
        finally
        {
            numbers.Give();
        }
    }

    /// <summary>These elements where the condition is true, those of another array elsewhere.</summary>
    private NDArray Chosen(NDArray condition, NDArray other, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor c = TensorOf(
            condition ?? throw new ArgumentNullException(nameof(condition)), nameof(condition))!;
        NativeTensor b = TensorOf(other ?? throw new ArgumentNullException(nameof(other)), nameof(other))!;
        NDArray target = TargetOf(result) ?? manager.NewArray(
            ResultRules.Broadcast(ResultRules.Broadcast(condition.shape, shape), other.shape),
            ResultRules.Common(dataType, other.dataType));
        try
        {
            HeedNative.HeedSelect(c, a, b, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    /// <summary>These elements where the condition is true, a number of their type elsewhere.</summary>
    private NDArray Chosen(NDArray condition, Scalar other, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor c = TensorOf(
            condition ?? throw new ArgumentNullException(nameof(condition)), nameof(condition))!;
        NumberTensors numbers = NumberTensors.Take();
        NDArray? target = null;
        try
        {
            NativeTensor b = numbers.Of(manager, nameof(other), other, dataType);
            target = TargetOf(result)
                ?? manager.NewArray(ResultRules.Broadcast(condition.shape, shape), dataType);
            HeedNative.HeedSelect(c, a, b, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
        finally
        {
            numbers.Give();
        }
    }

    private NDArray Clipped(Scalar min, Scalar max, NDArray? result)
    {
        NativeTensor a = Tensor;
        NumberTensors numbers = NumberTensors.Take();
        NDArray? target = null;
        try
        {
            DataType type = TypeOfNumber(dataType);
            NativeTensor least = numbers.Of(manager, nameof(min), min, type);
            NativeTensor largest = numbers.Second.Of(manager, nameof(max), max, type);
            target = TargetOf(result) ?? manager.NewArray(shape, dataType);
            HeedNative.HeedClip(a, least, largest, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
        finally
        {
            numbers.Give();
        }
    }

    /// <summary>The elements before the length of their sequence, and a value behind it.</summary>
    private NDArray Masked(NDArray sequenceLength, Scalar value, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor lengths = TensorOf(
            sequenceLength ?? throw new ArgumentNullException(nameof(sequenceLength)), nameof(sequenceLength))!;
        Shape given = sequenceLength.shape;
        if (shape.Dimension < 2 || given.Dimension != 1 || given[0] != shape[0])
        {
            throw new ArgumentException(
                $"the array has the shape {shape} and sequenceLength {given}, expected (B, T, ...) and (B)",
                nameof(sequenceLength));
        }
        var positionDims = new long[shape.Dimension];
        var lengthDims = new long[shape.Dimension];
        var maskDims = new long[shape.Dimension];
        for (int axis = 0; axis < maskDims.Length; axis++)
        {
            positionDims[axis] = axis == 1 ? shape[axis] : 1;
            lengthDims[axis] = axis == 0 ? shape[axis] : 1;
            maskDims[axis] = axis < 2 ? shape[axis] : 1;
        }
        using NativeTensor positions = manager.NewTensor(new Shape(positionDims), DataType.Float64);
        positions.FillArange(0, 1);
        using NativeTensor lengthOfRow = ViewOf(lengths, lengthDims);
        using NativeTensor isValid = manager.NewTensor(new Shape(maskDims), DataType.Boolean);
        HeedNative.HeedCompare((int)Comparison.Lt, positions, lengthOfRow, isValid);
        NumberTensors numbers = NumberTensors.Take();
        NDArray? target = null;
        try
        {
            NativeTensor padding = numbers.Of(manager, nameof(value), value, dataType);
            target = TargetOf(result) ?? manager.NewArray(shape, dataType);
            HeedNative.HeedSelect(isValid, a, padding, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
        finally
        {
            numbers.Give();
        }
    }

    /// <summary>The array to write for a result that the program gives: itself, or a new one if it is a parameter; null
    /// if it gives none.</summary>
    private static NDArray? TargetOf(NDArray? result, string name = "result")
    {
        _ = TensorOf(result, name);
        return result?.write is null ? result : result.manager.NewArray(result.shape, result.dataType);
    }

    /// <summary>The end of a call that has written the target: the result that was given, or else the target.</summary>
    private static NDArray Finished(NDArray? result, NDArray target)
    {
        if (result is null || result == target)
        {
            return target;
        }
        using NDArray values = target;
        result.Replace(values.tensor);
        return result;
    }

    /// <summary>The end of a call that has failed.</summary>
    private static void Drop(NDArray? result, NDArray? target)
    {
        if (result != target)
        {
            target?.Dispose();
        }
    }
}
