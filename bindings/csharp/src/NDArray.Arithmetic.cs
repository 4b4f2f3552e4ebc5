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
        Tape? tape = Tape.AnyOpen ? ElementGradients.TapeOf(function, result, this, other) : null;
        NDArray target = TargetOf(result) ?? manager.NewArray(
            ResultRules.Broadcast(shape, other.shape),
            ResultRules.Of(function, ResultRules.Common(dataType, other.dataType)));
        NDArray made = Into(
            result,
            target,
            (Function: (int)function, A: a, B: b),
            static (of, found) => HeedNative.HeedElementwise(of.Function, of.A, of.B, found));
        return tape is null ? made : tape.Record(ElementGradients.Of(function)!, made, this, other);
    }

    private NDArray Elementwise(ElementFunction function, NDArray? result)
    {
        NativeTensor a = Tensor;
        Tape? tape = Tape.AnyOpen ? ElementGradients.TapeOf(function, result, this) : null;
        NDArray target = TargetOf(result) ?? manager.NewArray(shape, ResultRules.Of(function, dataType));
        NDArray made = Into(
            result,
            target,
            (Function: (int)function, A: a),
            static (of, found) => HeedNative.HeedElementwise(of.Function, of.A, null, found));
        return tape is null ? made : tape.Record(ElementGradients.Of(function)!, made, this);
    }

    private NDArray Elementwise(ElementFunction function, Scalar other, NDArray? result) =>
        WithNumber(function, other, false, result);

    private NDArray WithNumber(ElementFunction function, Scalar number, bool isFirst, NDArray? result)
    {
        NativeTensor a = Tensor;
        Tape? tape = Tape.AnyOpen ? ElementGradients.TapeOfNumber(function, isFirst, result, this) : null;
        NumberTensors numbers = NumberTensors.Take();
        try
        {
            NativeTensor b = numbers.Of(manager, isFirst ? "number" : "other", number, TypeOfNumber(dataType));
            NDArray target = TargetOf(result) ?? manager.NewArray(shape, ResultRules.Of(function, dataType));
            NDArray made = Into(
                result,
                target,
                (Function: (int)function, First: isFirst ? b : a, Second: isFirst ? a : b),
                static (of, found) => HeedNative.HeedElementwise(of.Function, of.First, of.Second, found));
            return tape is null
                ? made : tape.Record(ElementGradients.OfNumber(function, isFirst)!, made, this, number: number);
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
        return Into(
            result,
            target,
            (Comparison: (int)comparison, A: a, B: b),
            static (of, found) => HeedNative.HeedCompare(of.Comparison, of.A, of.B, found));
    }

    private NDArray Compared(Comparison comparison, Scalar other, NDArray? result)
    {
        NativeTensor a = Tensor;
        NumberTensors numbers = NumberTensors.Take();
        try
        {
            NativeTensor b = numbers.Of(manager, nameof(other), other, TypeOfNumber(dataType));
            NDArray target = TargetOf(result) ?? manager.NewArray(shape, DataType.Boolean);
            return Into(
                result,
                target,
                (Comparison: (int)comparison, A: a, B: b),
                static (of, found) => HeedNative.HeedCompare(of.Comparison, of.A, of.B, found));
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
        Tape? tape = Tape.ForNew(ChoiceGradients.Where, result, this, condition, other);
        NDArray target = TargetOf(result) ?? manager.NewArray(
            ResultRules.Broadcast(ResultRules.Broadcast(condition.shape, shape), other.shape),
            ResultRules.Common(dataType, other.dataType));
        NDArray made = Into(
            result,
            target,
            (Condition: c, A: a, B: b),
            static (of, found) => HeedNative.HeedSelect(of.Condition, of.A, of.B, found));
        return tape is null ? made : tape.Record(ChoiceGradients.Where, made, this, condition, other);
    }

    /// <summary>These elements where the condition is true, a number of their type elsewhere.</summary>
    private NDArray Chosen(NDArray condition, Scalar other, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor c = TensorOf(
            condition ?? throw new ArgumentNullException(nameof(condition)), nameof(condition))!;
        Tape? tape = Tape.ForNew(ChoiceGradients.Where, result, this, condition);
        NumberTensors numbers = NumberTensors.Take();
        try
        {
            NativeTensor b = numbers.Of(manager, nameof(other), other, dataType);
            NDArray target = TargetOf(result)
                ?? manager.NewArray(ResultRules.Broadcast(condition.shape, shape), dataType);
            NDArray made = Into(
                result,
                target,
                (Condition: c, A: a, B: b),
                static (of, found) => HeedNative.HeedSelect(of.Condition, of.A, of.B, found));
            return tape is null ? made : tape.Record(ChoiceGradients.Where, made, this, condition);
        }
        finally
        {
            numbers.Give();
        }
    }

    private NDArray Clipped(Scalar min, Scalar max, NDArray? result)
    {
        NativeTensor a = Tensor;
        Tape? tape = Tape.ForNew(ChoiceGradients.Clip, result, this);
        NumberTensors numbers = NumberTensors.Take();
        try
        {
            DataType type = TypeOfNumber(dataType);
            NativeTensor least = numbers.Of(manager, nameof(min), min, type);
            NativeTensor largest = numbers.Second.Of(manager, nameof(max), max, type);
            NDArray target = TargetOf(result) ?? manager.NewArray(shape, dataType);
            NDArray made = Into(
                result,
                target,
                (A: a, Least: least, Largest: largest),
                static (of, found) => HeedNative.HeedClip(of.A, of.Least, of.Largest, found));
            return tape is null ? made : tape.Record(ChoiceGradients.Clip, made, this, arguments: (min, max));
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
        Tape.Refuse("sequenceLength of SequenceMask", sequenceLength);
        Tape? tape = Tape.ForNew(ChoiceGradients.SequenceMask, result, this);
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
        try
        {
            NativeTensor padding = numbers.Of(manager, nameof(value), value, dataType);
            NDArray target = TargetOf(result) ?? manager.NewArray(shape, dataType);
            NDArray made = Into(
                result,
                target,
                (IsValid: isValid, A: a, Padding: padding),
                static (of, found) => HeedNative.HeedSelect(of.IsValid, of.A, of.Padding, found));
            return tape is null ? made : tape.Record(ChoiceGradients.SequenceMask, made, this, sequenceLength);
        }
        finally
        {
            numbers.Give();
        }
    }
}
