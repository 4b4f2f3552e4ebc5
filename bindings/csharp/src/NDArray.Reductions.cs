// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Reductions of the elements along axes.</content>
public sealed partial class NDArray
{
    private unsafe NDArray Reduced(Reduction reduction, int[]? axes, bool keepDims, NDArray? result)
    {
        int none = 0;
        fixed (int* some = axes)
        {
            // Null means all axes, and is what an empty array is fixed to.
            int* given = axes is { Length: 0 } ? &none : some;
            NDArray? target = TargetOf(result);
            Tape? tape = Tape.AnyOpen ? ReductionGradients.TapeOf(reduction, result, this) : null;
            NDArray made =
                ReducedInto(reduction, given, axes?.Length ?? 0, result, target ?? NewReduced(reduction, axes, keepDims));
            return tape is null
                ? made : tape.Record(ReductionGradients.Of(reduction)!, made, this, arguments: axes?.Clone());
        }
    }

    private unsafe NDArray Reduced(Reduction reduction, int axis, bool keepDims, NDArray? result)
    {
        int along = AxisOf(axis, Shape.Dimension, nameof(axis));
        NDArray? target = TargetOf(result);
        Tape? tape = Tape.AnyOpen ? ReductionGradients.TapeOf(reduction, result, this) : null;
        NDArray made =
            ReducedInto(reduction, &along, 1, result, target ?? NewReduced(reduction, new[] { along }, keepDims));
        return tape is null
            ? made : tape.Record(ReductionGradients.Of(reduction)!, made, this, arguments: new[] { along });
    }

    private NDArray NewReduced(Reduction reduction, int[]? axes, bool keepDims)
    {
        CheckOpen();
        return manager.NewArray(ResultRules.Reduced(shape, axes, keepDims), ResultRules.Of(reduction, dataType));
    }

    private unsafe NDArray ReducedInto(Reduction reduction, int* axes, int count, NDArray? result, NDArray target) => Into(
        result,
        target,
        (Reduction: (int)reduction, A: this, Axes: (IntPtr)axes, Count: count),
        static (of, reduced) => HeedNative.HeedReduceAxes(of.Reduction, of.A.Tensor, (int*)of.Axes, of.Count, reduced));

    private NDArray SoftmaxInto(int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        Tape? tape = Tape.ForNew(ReductionGradients.Softmax, result, this);
        NDArray target = TargetOf(result) ?? manager.NewArray(shape, dataType);
        NDArray made = Into(
            result, target, (A: a, Axis: axis), static (of, found) => HeedNative.HeedSoftmax(of.A, of.Axis, found));
        return tape is null ? made : tape.Record(ReductionGradients.Softmax, made, this, arguments: axis);
    }

    private NDArray LogarithmOfSoftmax(int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        Tape? tape = Tape.ForNew(ReductionGradients.LogSoftmax, result, this);
        NDArray target = TargetOf(result) ?? manager.NewArray(shape, dataType);
        NDArray made = Into(
            result, target, (A: a, Axis: axis), static (of, found) => HeedNative.HeedLogSoftmax(of.A, of.Axis, found));
        return tape is null ? made : tape.Record(ReductionGradients.LogSoftmax, made, this, arguments: axis);
    }

    private NDArray NormOf(int ord, int[] axes, bool keepDims)
    {
        CheckOpen();
        _ = axes ?? throw new ArgumentNullException(nameof(axes));
        if (ord == 2)
        {
            return Reduced(Reduction.Norm, axes, keepDims, null);
        }
        if (ord != 1)
        {
            throw new ArgumentException($"ord is {ord}, expected 1 or 2", nameof(ord));
        }
        if (Tape.For("Norm", this) != null)
        {
            using NDArray magnitudes = Abs();
            return magnitudes.Sum(axes, keepDims);
        }
        bool isWhole = dataType is DataType.Int32 or DataType.Int64;
        using NDArray numbers = ToType(isWhole ? DataType.Float32 : dataType, copy: true);
        return numbers.Abs(numbers).Sum(axes, keepDims);
    }

    private NDArray Normalized(double exponent, int axis, double eps, NDArray? result)
    {
        CheckOpen();
        if (!(exponent > 0))
        {
            throw new ArgumentException(
                $"exponent is {exponent}, expected a number above 0", nameof(exponent));
        }
        if (!dataType.IsFloating())
        {
            throw new ArgumentException(
                $"the array is of {dataType}, expected a type of floating-point numbers: use ToType");
        }
        int along = AxisOf(axis, shape.Dimension, nameof(axis));
        _ = TensorOf(result, nameof(result));
        if (Tape.For("Normalize", this) != null)
        {
            return NormalizedUnderTape(exponent, along, eps);
        }
        if (dataType is DataType.Float32 or DataType.Float64)
        {
            return DividedByNorms(exponent, along, eps, result);
        }
        using NDArray wide = ToType(DataType.Float32, copy: true);
        if (result?.dataType == DataType.Float32)
        {
            return wide.DividedByNorms(exponent, along, eps, result);
        }
        wide.DividedByNorms(exponent, along, eps, wide);
        return result is null ? manager.Adopt(Converted(wide.tensor, shape, dataType)) : CopiedInto(wide, dataType, result);
    }

    /// <summary>A quotient whose parts are recorded; for exponents whose norm has a gradient everywhere.</summary>
    private NDArray NormalizedUnderTape(double exponent, int axis, double eps)
    {
        if (exponent is not (1 or 2))
        {
            Tape.Refuse($"Normalize with the exponent {exponent}", this);
        }
        using NDArray norms = NormOf((int)exponent, new[] { axis }, keepDims: true);
        using NDArray bounded = norms.Maximum(eps);
        return Divide(bounded);
    }

    private NDArray DividedByNorms(double exponent, int axis, double eps, NDArray? result)
    {
        using NDArray norms = exponent == 2 ? Reduced(Reduction.Norm, axis, true, null) : Norms(exponent, axis);
        return Divide(norms.Maximum(eps, norms), result);
    }

    private NDArray Norms(double exponent, int axis)
    {
        using NDArray powers = Abs();
        if (double.IsInfinity(exponent))
        {
            // No elements have no maximum, and there are none to divide.
            return powers.Reduced(shape.Size == 0 ? Reduction.Sum : Reduction.Max, axis, true, null);
        }
        using NDArray sums = powers.Pow(exponent, powers).Reduced(Reduction.Sum, axis, true, null);
        return sums.Pow(1 / exponent);
    }

    private NDArray AnyTrue(NDArray? result)
    {
        if (DataType == DataType.Boolean && shape.Size > 0)
        {
            return Reduced(Reduction.Max, null, false, result);
        }
        using NDArray count = CountOfTrue();
        return count.Gt(0, result);
    }

    private NDArray AllTrue(NDArray? result)
    {
        if (DataType == DataType.Boolean && shape.Size > 0)
        {
            return Reduced(Reduction.Min, null, false, result);
        }
        using NDArray count = CountOfTrue();
        return count.Eq(shape.Size, result);
    }

    private NDArray NoneTrue(NDArray? result)
    {
        NDArray any = AnyTrue(result);
        return any.LogicalNot(any);
    }

    private NDArray CountOfTrue()
    {
        using NDArray isTrue = LogicalOr(this);
        return isTrue.Sum();
    }

    /// <summary>NumPy's dot.</summary>
    private NDArray DotProduct(NDArray other, NDArray? result)
    {
        CheckOpen();
        _ = TensorOf(other ?? throw new ArgumentNullException(nameof(other)), nameof(other));
        int rank = other.shape.Dimension;
        if (Shape.Dimension == 0 || rank == 0)
        {
            return Multiply(other, result);
        }
        if (rank <= 2)
        {
            return Product(other, result);
        }
        // The axis of the sums comes first, and the others become one.
        var axes = new int[rank];
        axes[0] = rank - 2;
        for (int axis = 1; axis < rank; axis++)
        {
            axes[axis] = axis < rank - 1 ? axis - 1 : rank - 1;
        }
        var dims = new long[shape.Dimension - 1 + rank - 1];
        Array.Copy(shape.Dims, dims, shape.Dimension - 1);
        long columns = 1;
        for (int axis = 0; axis < rank - 1; axis++)
        {
            long size = axis < rank - 2 ? other.shape[axis] : other.shape[rank - 1];
            dims[shape.Dimension - 1 + axis] = size;
            columns *= size;
        }
        using NDArray moved = other.Transpose(axes);
        using NDArray matrix = moved.Reshape(other.shape[rank - 2], columns);
        using NDArray product = MatMul(matrix);
        if (result is null)
        {
            return product.Reshape(dims);
        }
        using NDArray whole = product.Reshape(dims);
        return CopiedInto(whole, whole.dataType, result);
    }
}
