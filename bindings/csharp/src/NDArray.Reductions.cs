// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Reductions of the elements along axes.</content>
public sealed partial class NDArray
{
    private unsafe NDArray Reduced(Reduction reduction, int[]? axes, bool keepDims, NDArray? result)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(result) ?? manager.NewArray(
            ResultRules.Reduced(shape, axes, keepDims), ResultRules.Of(reduction, dataType));
        try
        {
            int none = 0;
            fixed (int* some = axes)
            {
                // Null means all axes, and is what an empty array is fixed to.
                int* given = axes is { Length: 0 } ? &none : some;
                HeedNative.HeedReduceAxes((int)reduction, a, given, axes?.Length ?? 0, target.tensor);
            }
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    private NDArray Reduced(Reduction reduction, int axis, bool keepDims, NDArray? result)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(result) ?? manager.NewArray(
            ResultRules.Reduced(shape, new[] { axis }, keepDims), ResultRules.Of(reduction, dataType));
        try
        {
            HeedNative.HeedReduce((int)reduction, a, axis, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
    }

    private NDArray LogarithmOfSoftmax(int axis, NDArray? result)
    {
        NativeTensor a = Tensor;
        NDArray target = TargetOf(result) ?? manager.NewArray(shape, dataType);
        try
        {
            HeedNative.HeedLogSoftmax(a, axis, target.tensor);
            return Finished(result, target);
        }
        catch
        {
            Drop(result, target);
            throw;
        }
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
        using NDArray magnitudes = Abs();
        return magnitudes.Sum(axes, keepDims);
    }

    private NDArray Normalized(double exponent, int axis, double eps, NDArray? result)
    {
        CheckOpen();
        if (!(exponent > 0))
        {
            throw new ArgumentException(
                $"exponent is {exponent}, expected a number above 0", nameof(exponent));
        }
        using NDArray norms = exponent == 2 ? Reduced(Reduction.Norm, axis, true, null) : Norms(exponent, axis);
        norms.Maximum(eps, norms);
        return Divide(norms, result);
    }

    private NDArray Norms(double exponent, int axis)
    {
        using NDArray powers = Abs();
        powers.Pow(exponent, powers);
        NDArray sums = powers.Reduced(Reduction.Sum, axis, true, null);
        return sums.Pow(1 / exponent, sums);
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
    private NDArray DotProduct(NDArray other)
    {
        CheckOpen();
        _ = TensorOf(other ?? throw new ArgumentNullException(nameof(other)), nameof(other));
        int rank = other.shape.Dimension;
        if (Shape.Dimension == 0 || rank == 0)
        {
            return Multiply(other);
        }
        if (rank <= 2)
        {
            return MatMul(other);
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
        return product.Reshape(dims);
    }
}
