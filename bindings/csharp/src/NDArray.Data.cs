// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;

namespace Heed;

/// <content>Reading and writing elements.</content>
public sealed partial class NDArray
{
    /// <summary>Array.MaxLength, which .NET Standard lacks.</summary>
    internal const long MaxManagedArray = 0x7fffffc7;

    private float[] Floats()
    {
        if (DataType is not (DataType.Float16 or DataType.BFloat16))
        {
            return ToArray<float>(nameof(ToFloatArray), "Float32, Float16 or BFloat16");
        }
        var elements = new float[ManagedSize(shape.Size)];
        using NativeTensor floats = ConvertedOnHost(Tensor, shape, DataType.Float32);
        Read<float>(floats, elements);
        return elements;
    }

    /// <summary>Copies the elements out.</summary>
    /// <typeparam name="T">The array's type: float, double, int, long, sbyte, byte or bool; Half in Heed.dll for .NET
    /// 8; ushort for the bits of Float16 and BFloat16; byte for the bytes of any type, in the machine's byte
    /// order.</typeparam>
    /// <returns>The elements in row-major order.</returns>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    /// <exception cref="NotSupportedException">No array has elements of type T.</exception>
    public T[] ToArray<T>()
        where T : unmanaged => ToArray<T>(nameof(ToArray), null);

    /// <summary>Copies the elements out.</summary>
    /// <typeparam name="T">A type as for <see cref="ToArray{T}()"/>.</typeparam>
    /// <param name="destination">The span to fill, from its beginning, in row-major order.</param>
    /// <exception cref="ArgumentException">The span is too short.</exception>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    /// <exception cref="NotSupportedException">No array has elements of type T.</exception>
    public void CopyTo<T>(Span<T> destination)
        where T : unmanaged
    {
        long count = CountOf<T>(nameof(CopyTo), null);
        if (destination.Length < count)
        {
            throw new ArgumentException(
                $"destination has room for {destination.Length} elements, the array has {count}", nameof(destination));
        }
        Read(Tensor, destination.Slice(0, (int)count));
    }

    private void CopyInto(NDArray destination)
    {
        _ = destination ?? throw new ArgumentNullException(nameof(destination));
        NativeTensor source = Tensor;
        TensorOf(destination, nameof(destination));
        destination.Fill(target => target.Copy(source));
    }

    /// <summary>Sets all elements.</summary>
    /// <typeparam name="T">A type as for <see cref="ToArray{T}()"/>; float also for Float16 and BFloat16 arrays, for
    /// which the elements are rounded to nearest even.</typeparam>
    /// <param name="data">One element for each of the array, in row-major order.</param>
    /// <exception cref="ArgumentException">There are more or fewer elements.</exception>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    /// <exception cref="NotSupportedException">No array has elements of type T.</exception>
    public unsafe void Set<T>(ReadOnlySpan<T> data)
        where T : unmanaged
    {
        bool isNarrowed = typeof(T) == typeof(float) && DataType is DataType.Float16 or DataType.BFloat16;
        if (!isNarrowed && !ElementTypes.Holds<T>(DataType))
        {
            throw WrongType(nameof(Set), ElementTypes.NameOf<T>());
        }
        long count = ElementTypes.CountOf<T>(shape.Size, isNarrowed ? DataType.Float32 : dataType);
        if (data.Length != count)
        {
            throw new ArgumentException($"data has {data.Length} elements, the array has {count}", nameof(data));
        }
        Tape.Refuse(nameof(Set), this);
        fixed (T* elements = data)
        {
            Write(elements, (ulong)count * (ulong)sizeof(T), isNarrowed);
        }
    }

    /// <summary>Returns one element of a Float32, Float16 or BFloat16 array.</summary>
    /// <param name="indices">An index for each axis; negative ones count from the end.</param>
    /// <returns>The element, widened to float.</returns>
    /// <exception cref="ArgumentException">There are more or fewer indices than axes, or an index is out of
    /// range.</exception>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    public float GetFloat(params long[] indices)
    {
        _ = indices ?? throw new ArgumentNullException(nameof(indices));
        return DataType is DataType.Float32 or DataType.Float16 or DataType.BFloat16
            ? Element<float>(indices, DataType.Float32)
            : throw WrongType(nameof(GetFloat), "Float32, Float16 or BFloat16");
    }

    /// <summary>Returns one element of an array of integers.</summary>
    /// <param name="indices">An index for each axis; negative ones count from the end.</param>
    /// <returns>The element, widened to long.</returns>
    /// <exception cref="ArgumentException">There are more or fewer indices than axes, or an index is out of
    /// range.</exception>
    /// <exception cref="InvalidOperationException">The array is of another type.</exception>
    public long GetLong(params long[] indices)
    {
        _ = indices ?? throw new ArgumentNullException(nameof(indices));
        return DataType.IsInteger()
            ? Element<long>(indices, DataType.Int64)
            : throw WrongType(nameof(GetLong), "Int64, Int32, Int8 or UInt8");
    }

    private unsafe void SaveTo(string path)
    {
        fixed (byte* file = NativeText.ToNative(path, nameof(path)))
        {
            Tensor.SaveNpy(file);
        }
    }

    /// <summary>Reads the elements of a native array; the span must have exactly as many.</summary>
    internal static unsafe void Read<T>(NativeTensor tensor, Span<T> elements)
        where T : unmanaged
    {
        fixed (T* destination = elements)
        {
            tensor.Read(destination, (ulong)elements.Length * (ulong)sizeof(T));
        }
        if (typeof(T) == typeof(bool))
        {
            foreach (ref byte element in MemoryMarshal.AsBytes(elements))
            {
                element = (byte)(element == 0 ? 0 : 1);
            }
        }
    }

    private static int ManagedSize(long size) => size <= MaxManagedArray
        ? (int)size
        : throw new InvalidOperationException("the array has " + size + " elements, more than a .NET array can hold");

    private void SetFrom<T>(T[] data)
        where T : unmanaged =>
        Set<T>((ReadOnlySpan<T>)(data ?? throw new ArgumentNullException(nameof(data))));

    private T[] ToArray<T>(string method, string? wanted)
        where T : unmanaged
    {
        var elements = new T[ManagedSize(CountOf<T>(method, wanted))];
        Read<T>(Tensor, elements);
        return elements;
    }

    private unsafe void Write(void* elements, ulong numBytes, bool isNarrowed)
    {
        if (write is null && !isNarrowed)
        {
            Tensor.Write(elements, numBytes);
            CountWrite();
            return;
        }
        WriteAnew(elements, numBytes, isNarrowed ? DataType.Float32 : dataType);
    }

    /// <summary>Writes the elements through a new native array.</summary>
    private unsafe void WriteAnew(void* elements, ulong numBytes, DataType type) => Fill(target =>
    {
        using NativeTensor values = manager.NewHostTensor(shape, type);
        values.Write(elements, numBytes);
        target.Copy(values);
    });

    /// <summary>The number of T in the array.</summary>
    private long CountOf<T>(string method, string? wanted)
        where T : unmanaged => ElementTypes.Holds<T>(DataType)
        ? ElementTypes.CountOf<T>(shape.Size, dataType)
        : throw WrongType(method, wanted ?? ElementTypes.NameOf<T>());

    private T Element<T>(long[] indices, DataType type)
        where T : unmanaged
    {
        if (indices.Length != shape.Dimension)
        {
            throw new ArgumentException(
                $"there are {indices.Length} indices for an array of shape {shape}, expected {shape.Dimension}",
                nameof(indices));
        }
        Span<T> value = stackalloc T[1];
        CheckIndices(indices);
        NativeTensor all = Tensor;
        using NativeTensor element = StridedView.At(all, shape, indices).Of(all);
        if (dataType == type)
        {
            Read(element, value);
            return value[0];
        }
        using NativeTensor converted = ConvertedOnHost(element, ScalarShape, type);
        Read(converted, value);
        return value[0];
    }

    /// <summary>Makes a native array of another type with the same elements, which no manager owns yet.</summary>
    private NativeTensor Converted(NativeTensor source, Shape shape, DataType type) =>
        Converted(source, manager.NewTensor(shape, type));

    /// <summary>Makes such an array in the processor's memory.</summary>
    private NativeTensor ConvertedOnHost(NativeTensor source, Shape shape, DataType type) =>
        Converted(source, manager.NewHostTensor(shape, type));

    private static NativeTensor Converted(NativeTensor source, NativeTensor converted)
    {
        try
        {
            converted.Copy(source);
            return converted;
        }
        catch
        {
            converted.Dispose();
            throw;
        }
    }

    private InvalidOperationException WrongType(string method, string wanted) =>
        new InvalidOperationException(method + " needs an array of " + wanted + ", this one is of " + dataType);
}
