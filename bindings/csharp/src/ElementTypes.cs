// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Which .NET types hold the elements of which arrays.</summary>
internal static class ElementTypes
{
    /// <summary>The data type whose elements are of type T.</summary>
    /// <exception cref="NotSupportedException">There is no such data type.</exception>
    internal static DataType Of<T>()
        where T : unmanaged
    {
        if (typeof(T) == typeof(float))
        {
            return DataType.Float32;
        }
        if (typeof(T) == typeof(double))
        {
            return DataType.Float64;
        }
        if (typeof(T) == typeof(int))
        {
            return DataType.Int32;
        }
        if (typeof(T) == typeof(long))
        {
            return DataType.Int64;
        }
        if (typeof(T) == typeof(sbyte))
        {
            return DataType.Int8;
        }
        if (typeof(T) == typeof(byte))
        {
            return DataType.UInt8;
        }
        if (typeof(T) == typeof(bool))
        {
            return DataType.Boolean;
        }
#if NET8_0_OR_GREATER
        if (typeof(T) == typeof(Half))
        {
            return DataType.Float16;
        }
#endif
        if (typeof(T) == typeof(ushort))
        {
            throw new ArgumentException(
                "ushort is the bits of Float16 or of BFloat16: name the type of the array", "dataType");
        }
        throw new NotSupportedException($"no array has elements of the type {typeof(T)}");
    }

    /// <summary>Whether a T is an element of that type, the bits of a 16-bit element (ushort), or one byte of an
    /// element (byte).</summary>
    internal static bool Holds<T>(DataType dataType)
        where T : unmanaged =>
        typeof(T) == typeof(byte)
        || (typeof(T) == typeof(ushort) ? dataType is DataType.Float16 or DataType.BFloat16 : Of<T>() == dataType);

    /// <summary>The data types whose elements T can hold.</summary>
    internal static string NameOf<T>()
        where T : unmanaged => typeof(T) == typeof(ushort) ? "Float16 or BFloat16" : Of<T>().ToString();

    /// <summary>The number of T in an array with this number of elements.</summary>
    internal static unsafe long CountOf<T>(long numElements, DataType dataType)
        where T : unmanaged =>
        checked(numElements * dataType.NumOfBytes()) / sizeof(T);
}
