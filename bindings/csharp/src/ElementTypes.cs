// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Which of .NET's types holds the elements of which array.</summary>
internal static class ElementTypes
{
    /// <summary>The type whose elements T is.</summary>
    /// <exception cref="NotSupportedException">There is none.</exception>
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
            throw new ArgumentException("ushort is the bits of Float16 or of BFloat16: name the type of the array");
        }
        throw new NotSupportedException($"no array has elements of the type {typeof(T)}");
    }

    /// <summary>Whether a T is an element of that type, the bits of one of 16 bits (ushort), or one of its bytes
    /// (byte).</summary>
    internal static bool Holds<T>(DataType dataType)
        where T : unmanaged =>
        typeof(T) == typeof(byte)
        || (typeof(T) == typeof(ushort) ? dataType is DataType.Float16 or DataType.BFloat16 : Of<T>() == dataType);

    /// <summary>The types that T holds the elements of.</summary>
    internal static string NameOf<T>()
        where T : unmanaged => typeof(T) == typeof(ushort) ? "Float16 or BFloat16" : Of<T>().ToString();

    /// <summary>How many T an array of so many elements is.</summary>
    internal static unsafe long CountOf<T>(long numElements, DataType dataType)
        where T : unmanaged =>
        checked(numElements * dataType.NumOfBytes()) / sizeof(T);
}
