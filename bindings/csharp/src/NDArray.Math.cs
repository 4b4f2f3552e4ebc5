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

    /// <summary>Copies the array, with memory of its own, in row-major order.</summary>
    /// <returns>A new array of this shape and type.</returns>
    public NDArray Duplicate() => ToType(DataType, copy: true);

    /// <summary>Converts the elements to another type. Floats are rounded to nearest even for narrower floats and
    /// truncated for integers; a number out of range becomes the nearest in range, and NaN becomes 0 as an integer. As
    /// Boolean, all but 0 are true.</summary>
    /// <param name="dataType">The new type.</param>
    /// <param name="copy">Whether to copy the array even if it already has that type.</param>
    /// <returns>A new array, or this one.</returns>
    /// <exception cref="ArgumentException">There is no such type.</exception>
    public NDArray ToType(DataType dataType, bool copy = false)
    {
        NativeTensor source = Tensor;
        return dataType == this.dataType && !copy
            ? this
            : manager.NewArray(shape, dataType, target => target.Copy(source));
    }

    /// <summary>Copies the array to a device, without changing its type.</summary>
    /// <param name="device">The device.</param>
    /// <param name="copy">Whether to copy the array even if it is already on that device.</param>
    /// <returns>This array, if it is on that device and <paramref name="copy"/> is false; otherwise a new row-major
    /// array. A new array on another device belongs to a manager for that device, which has the options of this
    /// array's manager and is disposed with it.</returns>
    /// <exception cref="HeedException">With <see cref="Status.DeviceUnavailable"/>: driver, plugin or device is
    /// missing; the sentence says which.</exception>
    public NDArray ToDevice(Device device, bool copy = false)
    {
        _ = device ?? throw new ArgumentNullException(nameof(device));
        NativeTensor source = Tensor;
        return device.Equals(manager.Device) && !copy
            ? this
            : manager.On(device).NewArray(shape, dataType, target => target.Copy(source));
    }

    /// <summary>The softmax along an axis: exp(x) / sum of exp(x). NaN and +infinity make their row NaN, and a row
    /// whose elements are all -infinity is NaN.</summary>
    /// <param name="axis">The axis; negative ones count from the end.</param>
    /// <returns>A new array of this shape and type.</returns>
    /// <exception cref="ArgumentException">There is no such axis, or the array is not of a floating type that heed
    /// computes with.</exception>
    public NDArray Softmax(int axis)
    {
        NativeTensor source = Tensor;
        return manager.NewArray(shape, dataType, target => HeedNative.HeedSoftmax(source, axis, target));
    }

    /// <summary>The activation of each element, as a block of <see cref="Activation"/> computes it.</summary>
    internal NDArray Activated(ActivationKind activation)
    {
        NativeTensor source = Tensor;
        return manager.NewArray(
            shape, dataType, target => HeedNative.HeedActivation(source, (int)activation, target));
    }

    /// <summary>The product of two matrices, (M, K) and (K, N), or of several pairs of matrices, with the shapes of
    /// NumPy's matmul: axes before the last two are repeated as in <see cref="Broadcast"/>. A vector is one row as the
    /// left factor, and one column as the right factor.</summary>
    /// <param name="other">The right factor, of the same type.</param>
    /// <returns>A new array of that type.</returns>
    /// <exception cref="ArgumentException">Shapes or types do not fit, or heed does not compute with the
    /// type.</exception>
    public NDArray MatMul(NDArray other)
    {
        _ = other ?? throw new ArgumentNullException(nameof(other));
        NativeTensor a = Tensor;
        NativeTensor b = TensorOf(other, nameof(other))!;
        return manager.NewArray(
            ProductShape(shape, other.shape), dataType, product => HeedNative.HeedMatmul(a, b, product));
    }

    /// <summary>The products of the matrices of two batches: (B, M, K) and (B, K, N) give (B, M, N).</summary>
    /// <param name="other">The right factors, of the same type.</param>
    /// <returns>A new array of that type.</returns>
    /// <exception cref="ArgumentException">Shapes or types do not fit, or heed does not compute with the
    /// type.</exception>
    public NDArray BatchDot(NDArray other)
    {
        _ = other ?? throw new ArgumentNullException(nameof(other));
        if (Shape.Dimension != 3 || OpenArgument(other, nameof(other)).shape.Dimension != 3
            || shape[0] != other.shape[0])
        {
            throw new ArgumentException(
                $"the shapes are {shape} and {other.shape}, expected (B, M, K) and (B, K, N)", nameof(other));
        }
        return MatMul(other);
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

    /// <summary>Shape, type, device and elements as text, for people to read. The elements are left out if there are
    /// more than 1000.</summary>
    /// <returns>The text.</returns>
    public string ToDebugString() => ArrayText.DebugString(this);

    private static Shape ProductShape(Shape a, Shape b)
    {
        int batchAxes = Math.Max(0, Math.Max(a.Dimension, b.Dimension) - 2);
        var dims = new List<long>();
        for (int axis = 0; axis < batchAxes; axis++)
        {
            long sizeOfA = SizeFromEnd(a, batchAxes - axis + 2);
            dims.Add(sizeOfA == 1 ? SizeFromEnd(b, batchAxes - axis + 2) : sizeOfA);
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
