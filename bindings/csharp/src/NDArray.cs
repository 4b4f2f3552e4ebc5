// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>An array of elements of one type, which lives outside the managed heap and belongs to a manager.
/// Elements are copied in when it is made, and out by the To...Array methods, in row-major order. May be read from
/// many threads.</summary>
/// <remarks>Everything but Dispose, Manager and ToString throws <see cref="ObjectDisposedException"/> once the
/// array or its manager is disposed.</remarks>
public sealed class NDArray : IDisposable
{
    /// <summary>Array.MaxLength, which .NET Standard lacks.</summary>
    private const long MaxManagedArray = 0x7fffffc7;

    private readonly NativeTensor tensor;
    private readonly DataType dataType;
    private readonly Shape shape;

    internal NDArray(NDManager manager, NativeTensor tensor)
    {
        Manager = manager;
        this.tensor = tensor;
        dataType = (DataType)tensor.Dtype();
        var dims = new long[tensor.Rank()];
        for (int axis = 0; axis < dims.Length; axis++)
        {
            dims[axis] = tensor.Dim(axis);
        }
        shape = new Shape(dims);
    }

    /// <summary>The manager that the array belongs to, which may be disposed.</summary>
    public NDManager Manager { get; }

    /// <summary>The sizes of the axes.</summary>
    public Shape Shape
    {
        get
        {
            CheckOpen();
            return shape;
        }
    }

    /// <summary>The type of the elements.</summary>
    public DataType DataType
    {
        get
        {
            CheckOpen();
            return dataType;
        }
    }

    /// <summary>The number of elements: the product of the sizes of the axes.</summary>
    public long Size => Shape.Size;

    /// <summary>The native array, which is open.</summary>
    internal NativeTensor Tensor
    {
        get
        {
            CheckOpen();
            return tensor;
        }
    }

    /// <summary>Copies the elements out of a Float32, Float16 or BFloat16 array; those of 16 bits are widened,
    /// which is exact.</summary>
    /// <returns>The elements in row-major order.</returns>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    public unsafe float[] ToFloatArray()
    {
        if (DataType is not (DataType.Float32 or DataType.Float16 or DataType.BFloat16))
        {
            throw WrongType(nameof(ToFloatArray), "Float32, Float16 or BFloat16");
        }
        if (dataType != DataType.Float32)
        {
            var elements = new float[ManagedSize()];
            using NativeTensor floats = NewFloats();
            floats.Copy(tensor);
            return Read(floats, elements);
        }
        return Read(tensor, new float[ManagedSize()]);
    }

    /// <summary>Copies the elements out of a Float64 array.</summary>
    /// <returns>The elements in row-major order.</returns>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    public double[] ToDoubleArray()
    {
        Require(DataType.Float64, nameof(ToDoubleArray));
        return Read(tensor, new double[ManagedSize()]);
    }

    /// <summary>Copies the elements out of an Int32 array.</summary>
    /// <returns>The elements in row-major order.</returns>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    public int[] ToInt32Array()
    {
        Require(DataType.Int32, nameof(ToInt32Array));
        return Read(tensor, new int[ManagedSize()]);
    }

    /// <summary>Copies the elements out of an Int64 array.</summary>
    /// <returns>The elements in row-major order.</returns>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    public long[] ToInt64Array()
    {
        Require(DataType.Int64, nameof(ToInt64Array));
        return Read(tensor, new long[ManagedSize()]);
    }

    /// <summary>Frees the array; if a call on another thread uses it, after that call. Doing so twice does
    /// nothing.</summary>
    public void Dispose() => tensor.Dispose();

    /// <summary>Says what the array is.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"NDArray {shape} {dataType}{(tensor.SafeHandle.IsClosed ? " (closed)" : string.Empty)}";

    private static unsafe T[] Read<T>(NativeTensor tensor, T[] elements)
        where T : unmanaged
    {
        fixed (T* destination = elements)
        {
            tensor.Read(destination, (ulong)elements.Length * (ulong)sizeof(T));
        }
        return elements;
    }

    private void CheckOpen()
    {
        if (tensor.SafeHandle.IsClosed)
        {
            throw Errors.ClosedArray();
        }
    }

    private unsafe NativeTensor NewFloats()
    {
        fixed (long* dims = shape.Dims)
        {
            return NativeTensor.Create(Library.Context, (int)DataType.Float32, shape.Dimension, dims);
        }
    }

    private int ManagedSize()
    {
        long size = Size;
        return size <= MaxManagedArray
            ? (int)size
            : throw new InvalidOperationException(
                "the array has " + size + " elements, more than a .NET array can hold");
    }

    private void Require(DataType wanted, string method)
    {
        if (DataType != wanted)
        {
            throw WrongType(method, wanted.ToString());
        }
    }

    private InvalidOperationException WrongType(string method, string wanted) =>
        new InvalidOperationException(method + " needs an array of " + wanted + ", this one is of " + dataType);
}
