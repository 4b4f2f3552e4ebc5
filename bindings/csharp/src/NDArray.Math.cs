// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <content>Computations and comparisons.</content>
public sealed partial class NDArray
{
    /// <summary>The number of elements that are compared at a time.</summary>
    private const int ComparedAtOnce = 1 << 14;

    private delegate bool Pair<T>(T a, T b);

    /// <summary>The activation of each element, as a block of <see cref="Activation"/> computes it.</summary>
    internal NDArray Activated(ActivationKind activation, NDArray? result)
    {
        NativeTensor a = Tensor;
        ArrayOperation operation = ActivationGradients.Of(activation);
        Tape? tape = Tape.ForNew(operation, result, this);
        NDArray target = TargetOf(result) ?? manager.NewArray(shape, dataType);
        NDArray made = Into(
            result,
            target,
            (A: a, Activation: (int)activation),
            static (of, found) => HeedNative.HeedActivation(of.A, of.Activation, found));
        return tape is null ? made : tape.Record(operation, made, this);
    }

    /// <summary>A new array of a manager, with the elements of this one.</summary>
    private NDArray Copied(NDManager owner, Shape copied, DataType type)
    {
        NativeTensor source = Tensor;
        return owner.NewArray(copied, type, copy => copy.Copy(source));
    }

    private NDArray BroadcastTo(Shape wanted)
    {
        Tape? tape = Tape.For("Broadcast", this);
        NDArray made = Copied(manager, wanted, dataType);
        return tape is null ? made : tape.Record(ShapeGradients.Broadcast, made, this);
    }

    private NDArray ConvertedTo(DataType type)
    {
        Tape? tape = Tape.For("ToType", this);
        if (tape != null && type is not (DataType.Float32 or DataType.Float64))
        {
            Tape.Refuse($"ToType({type})", this);
        }
        NDArray made = Copied(manager, shape, type);
        return tape is null ? made : tape.Record(ShapeGradients.ToType, made, this);
    }

    private NDArray CopiedTo(Device device)
    {
        Tape? tape = Tape.For("ToDevice", this);
        if (tape != null && !device.Equals(Device))
        {
            Tape.Refuse($"ToDevice({device})", this);
        }
        NDArray made = Copied(manager.On(device), shape, dataType);
        return tape is null ? made : tape.Record(ShapeGradients.ToType, made, this);
    }

    /// <summary>The pairs of elements, rotated by tables. Without positions, each row has its own numbers.</summary>
    private NDArray Rotated(NDArray cosines, NDArray sines, NDArray? positions, RopeLayout layout, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor cosine = TensorOf(cosines ?? throw new ArgumentNullException(nameof(cosines)), nameof(cosines))!;
        NativeTensor sine = TensorOf(sines ?? throw new ArgumentNullException(nameof(sines)), nameof(sines))!;
        NativeTensor? rows = TensorOf(positions, nameof(positions));
        NDArray target = TargetOf(result) ?? manager.NewArray(shape, dataType);
        return Into(
            result,
            target,
            (A: a, Cosines: cosine, Sines: sine, Rows: rows, Layout: (int)layout),
            static (of, found) =>
                HeedNative.HeedRotaryEmbedding(of.A, of.Cosines, of.Sines, of.Rows, of.Layout, found));
    }

    private NDArray Product(NDArray other, NDArray? result)
    {
        NativeTensor a = Tensor;
        NativeTensor b = TensorOf(other, nameof(other))!;
        Tape? tape = Tape.ForNew(ProductGradients.MatMul, result, this, other);
        NDArray target = TargetOf(result) ?? manager.NewArray(
            ProductShape(shape, other.shape), ResultRules.Common(dataType, other.dataType));
        NDArray made = Into(
            result, target, (A: a, B: b), static (of, product) => HeedNative.HeedMatmul(of.A, of.B, product));
        return tape is null ? made : tape.Record(ProductGradients.MatMul, made, this, other);
    }

    private NDArray BatchProduct(NDArray other, NDArray? result)
    {
        if (Shape.Dimension != 3 || OpenArgument(other, nameof(other)).shape.Dimension != 3
            || shape[0] != other.shape[0])
        {
            throw new ArgumentException(
                $"the shapes are {shape} and {other.shape}, expected (B, M, K) and (B, K, N)", nameof(other));
        }
        return Product(other, result);
    }

    /// <summary>Whether both arrays have the same shape, and all elements are close: abs(this - other) &lt;= atol +
    /// rtol * abs(other), computed in double. An infinity is close only to itself.</summary>
    /// <param name="other">Another array, of any type.</param>
    /// <param name="rtol">The relative tolerance.</param>
    /// <param name="atol">The absolute tolerance.</param>
    /// <param name="equalNan">Whether a NaN is close to a NaN.</param>
    /// <returns>Whether all elements are close.</returns>
    public bool AllClose(NDArray other, double rtol = 1e-5, double atol = 1e-8, bool equalNan = false) =>
        HasShapeOf(other) && All<double>(
            other,
            DataType.Float64,
            (a, b) => a == b || (equalNan && double.IsNaN(a) && double.IsNaN(b))
                || (!double.IsInfinity(a) && !double.IsInfinity(b) && Math.Abs(a - b) <= atol + (rtol * Math.Abs(b))));

    /// <summary>Whether both arrays have the same shape, type and elements. 0 is equal to -0, and NaN is not
    /// equal to NaN unless that is asked for.</summary>
    /// <param name="other">Another array.</param>
    /// <param name="equalNan">Whether NaN is equal to NaN, as an array is equal to itself.</param>
    /// <returns>Whether they are equal.</returns>
    public bool ContentEquals(NDArray other, bool equalNan = false) => HasShapeOf(other) && other.dataType == dataType
        && (dataType == DataType.Int64
            ? All<long>(other, DataType.Int64, (a, b) => a == b)
            : All<double>(
                other, DataType.Float64, (a, b) => a == b || (equalNan && double.IsNaN(a) && double.IsNaN(b))));

    /// <summary>The shape of a product; a small one if the factors do not fit, and C refuses the call.</summary>
    private static Shape ProductShape(Shape a, Shape b)
    {
        if (a.IsScalar || b.IsScalar || a.Tail != b[Math.Max(b.Dimension - 2, 0)])
        {
            return ScalarShape;
        }
        int batchAxes = Math.Max(0, Math.Max(a.Dimension, b.Dimension) - 2);
        var dims = new List<long>();
        for (int axis = 0; axis < batchAxes; axis++)
        {
            long sizeOfA = SizeFromEnd(a, batchAxes - axis + 2);
            long sizeOfB = SizeFromEnd(b, batchAxes - axis + 2);
            if (sizeOfA != sizeOfB && sizeOfA != 1 && sizeOfB != 1)
            {
                return ScalarShape;
            }
            dims.Add(sizeOfA == 1 ? sizeOfB : sizeOfA);
        }
        dims.AddRange(a.Dimension > 1 ? new[] { a[a.Dimension - 2] } : Array.Empty<long>());
        dims.AddRange(b.Dimension > 1 ? new[] { b.Tail } : Array.Empty<long>());
        return new Shape(dims.ToArray());
    }

    /// <summary>The size of an axis counted from the end, 1 for the last axis. A missing axis has size 1.</summary>
    private static long SizeFromEnd(Shape shape, int axisFromEnd) =>
        axisFromEnd <= shape.Dimension ? shape[shape.Dimension - axisFromEnd] : 1;

    private bool HasShapeOf(NDArray other)
    {
        _ = other ?? throw new ArgumentNullException(nameof(other));
        return Shape.Equals(OpenArgument(other, nameof(other)).shape);
    }

    private static NDArray OpenArgument(NDArray array, string argument)
    {
        TensorOf(array, argument);
        return array;
    }

    /// <summary>Whether a condition holds for all pairs of elements, which are converted to a type that T can
    /// hold.</summary>
    private bool All<T>(NDArray other, DataType type, Pair<T> holds)
        where T : unmanaged
    {
        using NativeTensor a = InOneAxis(type);
        using NativeTensor b = other.InOneAxis(type);
        long size = shape.Size;
        var some = new T[Math.Min(size, ComparedAtOnce)];
        var others = new T[some.Length];
        for (long start = 0; start < size; start += some.Length)
        {
            int count = (int)Math.Min(size - start, some.Length);
            using NativeTensor partOfA = a.Slice(0, start, count);
            using NativeTensor partOfB = b.Slice(0, start, count);
            Read(partOfA, some.AsSpan(0, count));
            Read(partOfB, others.AsSpan(0, count));
            for (int i = 0; i < count; i++)
            {
                if (!holds(some[i], others[i]))
                {
                    return false;
                }
            }
        }
        return true;
    }

    private NativeTensor InOneAxis(DataType type)
    {
        using NativeTensor converted = ConvertedOnHost(Tensor, shape, type);
        return ViewOf(converted, new[] { shape.Size });
    }
}
