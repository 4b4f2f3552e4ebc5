// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <content>The methods that make arrays.</content>
public sealed partial class NDManager
{
    /// <summary>A size that is more than any memory, and fits in a long.</summary>
    private const double MaxElements = 1L << 62;

    private static readonly Shape Scalar = new Shape();

    /// <summary>Makes an array with two axes.</summary>
    /// <param name="data">The rows, all of the same length, which are copied.</param>
    /// <returns>An array of Float32 and shape (number of rows, their length).</returns>
    /// <exception cref="ArgumentException">A row is null, or its length differs from the first row's.</exception>
    public NDArray Create(float[][] data)
    {
        _ = data ?? throw new ArgumentNullException(nameof(data));
        int length = data.Length == 0 ? 0 : data[0]?.Length ?? 0;
        for (int row = 0; row < data.Length; row++)
        {
            if (data[row]?.Length != length)
            {
                string found = data[row] == null ? "null" : $"of {data[row].Length} elements";
                throw new ArgumentException($"data[{row}] is {found}, expected {length} as in data[0]", nameof(data));
            }
        }
        return Create(data.SelectMany(row => row).ToArray(), new Shape(data.Length, length));
    }

    /// <summary>Makes an array with two axes.</summary>
    /// <typeparam name="T">float, double, int, long, sbyte, byte or bool; Half in Heed.dll for .NET 8.</typeparam>
    /// <param name="data">The elements, which are copied.</param>
    /// <returns>An array of T's type and of data's shape.</returns>
    /// <exception cref="NotSupportedException">T is another type.</exception>
    public unsafe NDArray Create<T>(T[,] data)
        where T : unmanaged
    {
        _ = data ?? throw new ArgumentNullException(nameof(data));
        fixed (T* elements = data)
        {
            return Create(new ReadOnlySpan<T>(elements, data.Length), new Shape(data.GetLength(0), data.GetLength(1)));
        }
    }

    /// <summary>Makes an array with three axes.</summary>
    /// <typeparam name="T">float, double, int, long, sbyte, byte or bool; Half in Heed.dll for .NET 8.</typeparam>
    /// <param name="data">The elements, which are copied.</param>
    /// <returns>An array of T's type and of data's shape.</returns>
    /// <exception cref="NotSupportedException">T is another type.</exception>
    public unsafe NDArray Create<T>(T[,,] data)
        where T : unmanaged
    {
        _ = data ?? throw new ArgumentNullException(nameof(data));
        fixed (T* elements = data)
        {
            return Create(
                new ReadOnlySpan<T>(elements, data.Length),
                new Shape(data.GetLength(0), data.GetLength(1), data.GetLength(2)));
        }
    }

    /// <summary>Makes an array.</summary>
    /// <typeparam name="T">float, double, int, long, sbyte, byte or bool; Half in Heed.dll for .NET 8; ushort for the
    /// bits of Float16 and BFloat16; byte for the bytes of any type, in the machine's byte order.</typeparam>
    /// <param name="data">The elements in row-major order, which are copied.</param>
    /// <param name="shape">The shape, with as many elements; null: one axis.</param>
    /// <param name="dataType">The type of the array; null: T's own, UInt8 for byte. Required for ushort.</param>
    /// <returns>An array of that type.</returns>
    /// <exception cref="ArgumentException">The shape has another number of elements, or T cannot hold elements of that
    /// type.</exception>
    /// <exception cref="NotSupportedException">T is another type.</exception>
    public unsafe NDArray Create<T>(ReadOnlySpan<T> data, Shape? shape = null, DataType? dataType = null)
        where T : unmanaged
    {
        DataType type = CheckElements<T>(dataType, data.Length, ref shape);
        NativeTensor tensor = NewTensor(shape!, type);
        try
        {
            fixed (T* elements = data)
            {
                tensor.Write(elements, (ulong)data.Length * (ulong)sizeof(T));
            }
            return Adopt(tensor);
        }
        catch
        {
            tensor.Dispose();
            throw;
        }
    }

    /// <summary>Makes an array that uses a .NET array as its memory, without a copy, like <see cref="Wrap{T}(Memory{T},
    /// Shape?, DataType?)"/>.</summary>
    /// <typeparam name="T">The type of the elements, as there.</typeparam>
    /// <param name="data">The elements in row-major order.</param>
    /// <param name="shape">The shape, with as many elements; null: one axis.</param>
    /// <param name="dataType">The type of the array; null: T's own.</param>
    /// <returns>An array of that type.</returns>
    /// <exception cref="ArgumentException">The shape has another number of elements, or T cannot hold elements of that
    /// type.</exception>
    /// <exception cref="NotSupportedException">T is another type, or the device is not the CPU.</exception>
    public NDArray Wrap<T>(T[] data, Shape? shape = null, DataType? dataType = null)
        where T : unmanaged =>
        Wrap(new Memory<T>(data ?? throw new ArgumentNullException(nameof(data))), shape, dataType);

    /// <summary>Makes an array that uses .NET memory, without a copy: writing to one writes to the other. The memory is
    /// pinned until the array and all its views are freed, even if the program has no reference to it before. Only for
    /// the CPU.</summary>
    /// <typeparam name="T">float, double, int, long, sbyte, byte or bool; Half in Heed.dll for .NET 8; ushort for the
    /// bits of Float16 and BFloat16; byte for the bytes of any type, in the machine's byte order.</typeparam>
    /// <param name="memory">The elements in row-major order. A .NET array converts to it: float[] to
    /// Memory&lt;float&gt;.</param>
    /// <param name="shape">The shape, with as many elements; null: one axis.</param>
    /// <param name="dataType">The type of the array; null: T's own, UInt8 for byte. Required for ushort.</param>
    /// <returns>An array of that type.</returns>
    /// <exception cref="ArgumentException">The shape has another number of elements, T cannot hold elements of that
    /// type, or the memory's address is not a multiple of an element's size.</exception>
    /// <exception cref="NotSupportedException">T is another type, or the device is not the CPU.</exception>
    public unsafe NDArray Wrap<T>(Memory<T> memory, Shape? shape = null, DataType? dataType = null)
        where T : unmanaged
    {
        DataType type = CheckElements<T>(dataType, memory.Length, ref shape);
        NativeContext native = OpenContext();
        if (!Device.IsCpu)
        {
            throw new NotSupportedException($"an array of {Device} cannot lie in memory of .NET's: use Create");
        }
        SharedMemory? pinned = SharedMemory.Pinned(memory);
        try
        {
            if (pinned.Pointer == null && !memory.IsEmpty)
            {
                throw new ArgumentException(
                    "memory has elements, but its owner has pinned them nowhere", nameof(memory));
            }
            fixed (long* dims = shape!.Dims)
            {
                NativeTensor tensor = NativeTensor.Wrap(native, (int)type, shape.Dimension, dims, pinned.Pointer);
                tensor.SafeHandle.Keep(pinned);
                pinned = null;
                return Adopt(tensor);
            }
        }
        finally
        {
            SharedMemory.Release(pinned);
        }
    }

    private unsafe NDArray Loaded(string path)
    {
        fixed (byte* file = NativeText.ToNative(path, nameof(path)))
        {
            return Adopt(NativeTensor.LoadNpy(OpenContext(), file));
        }
    }

    private unsafe NDArray Loaded(string path, string name)
    {
        fixed (byte* file = NativeText.ToNative(path, nameof(path)), tensor = NativeText.ToNative(name, nameof(name)))
        {
            return Adopt(NativeTensor.LoadSafetensors(OpenContext(), file, tensor));
        }
    }

    /// <summary>Returns the type of an array with this number of T, and checks the shape; a null shape becomes one
    /// axis.</summary>
    private static DataType CheckElements<T>(DataType? dataType, int count, ref Shape? shape)
        where T : unmanaged
    {
        DataType type = dataType ?? ElementTypes.Of<T>();
        if (!ElementTypes.Holds<T>(type))
        {
            throw new ArgumentException($"data is of {typeof(T)}, which is no element of {type}", nameof(dataType));
        }
        long numElements = count;
        if (typeof(T) == typeof(byte))
        {
            int size = type.NumOfBytes();
            numElements = count % size == 0 ? count / size : throw new ArgumentException(
                $"data has {count} bytes, which is no multiple of the {size} bytes of an element of {type}", "data");
        }
        shape ??= new Shape(numElements);
        if (!shape.Holds(numElements))
        {
            throw new ArgumentException($"data has {numElements} elements, the shape is {shape}", nameof(shape));
        }
        return type;
    }

    private int CheckedStep(int step)
    {
        OpenContext();
        return step != 0 ? step : throw new ArgumentException("step is 0, expected another number", nameof(step));
    }

    private NDArray Sequence(double start, double stop, double step, DataType dataType)
    {
        double count = Math.Ceiling((stop - start) / step);
        if (double.IsNaN(count) || double.IsInfinity(count) || double.IsInfinity(step))
        {
            throw new ArgumentException(
                $"start is {start}, stop {stop} and step {step}, expected finite numbers and a step other than 0",
                nameof(start));
        }
        var shape = new Shape((long)Math.Min(Math.Max(0, count), MaxElements));
        return NewArray(shape, dataType, tensor => tensor.FillArange(start, step));
    }

    /// <summary>A matrix of ones on a diagonal, k columns to the right of the main one, and of zeros elsewhere.</summary>
    private NDArray Identity(long rows, long columns, long k, DataType dataType) =>
        NewArray(new Shape(rows, columns), dataType, tensor =>
        {
            long length = Math.Min(rows + Math.Min(k, 0), columns - Math.Max(k, 0));
            if (length > 0)
            {
                var diagonal = new StridedView(new[] { length }, new[] { columns + 1 }, k < 0 ? -k * columns : k);
                using NativeTensor ones = diagonal.Of(tensor);
                ones.Fill(1);
            }
        });

    private NDArray Spaced(double start, double stop, int num, bool endpoint)
    {
        OpenContext();
        if (double.IsNaN(stop - start) || double.IsInfinity(stop - start))
        {
            throw new ArgumentException($"start is {start} and stop is {stop}, expected finite numbers", nameof(start));
        }
        if (num < 0)
        {
            throw new ArgumentOutOfRangeException(nameof(num), $"{num}", "expected 0 or more");
        }
        int steps = endpoint ? num - 1 : num;
        return NewArray(new Shape(num), DataType.Float32, tensor =>
        {
            tensor.FillArange(start, steps > 0 ? (stop - start) / steps : 0);
            if (endpoint && steps > 0)
            {
                using NativeTensor last = tensor.Slice(0, -1, 1);
                last.Fill(stop);
            }
        });
    }

    private static T[] Elements<T>(IEnumerable<T> data) =>
        (data ?? throw new ArgumentNullException(nameof(data))) as T[] ?? data.ToArray();

    private NDArray CreateFrom<T>(T[] data, Shape? shape)
        where T : unmanaged =>
        Create<T>(data ?? throw new ArgumentNullException(nameof(data)), shape);
}
