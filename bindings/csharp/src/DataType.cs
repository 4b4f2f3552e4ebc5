// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The type of an array's elements. Attention computes with Float32, Float16 and BFloat16; the others are
/// stored and converted.</summary>
public enum DataType
{
    /// <summary>IEEE 754 binary32, float.</summary>
    Float32 = 0,

    /// <summary>IEEE 754 binary16, System.Half.</summary>
    Float16 = 1,

    /// <summary>bfloat16: the upper half of a binary32.</summary>
    BFloat16 = 2,

    /// <summary>IEEE 754 binary64, double.</summary>
    Float64 = 3,

    /// <summary>int.</summary>
    Int32 = 4,

    /// <summary>long.</summary>
    Int64 = 5,

    /// <summary>sbyte.</summary>
    Int8 = 6,

    /// <summary>byte.</summary>
    UInt8 = 7,

    /// <summary>One byte; any non-zero byte is true.</summary>
    Boolean = 8,
}

/// <summary>The properties of an element type.</summary>
public static class DataTypeExtensions
{
    /// <summary>The size of one element.</summary>
    /// <param name="dataType">The type.</param>
    /// <returns>The number of bytes.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such type.</exception>
    public static int NumOfBytes(this DataType dataType) => dataType switch
    {
        DataType.Float64 or DataType.Int64 => 8,
        DataType.Float32 or DataType.Int32 => 4,
        DataType.Float16 or DataType.BFloat16 => 2,
        DataType.Int8 or DataType.UInt8 or DataType.Boolean => 1,
        _ => throw new ArgumentOutOfRangeException(nameof(dataType), dataType, "there is no such element type"),
    };

    /// <summary>Tells whether elements are floating-point numbers.</summary>
    /// <param name="dataType">The type.</param>
    /// <returns>True for Float32, Float64, Float16 and BFloat16.</returns>
    public static bool IsFloating(this DataType dataType) =>
        dataType is DataType.Float32 or DataType.Float64 or DataType.Float16 or DataType.BFloat16;

    /// <summary>Tells whether elements are whole numbers.</summary>
    /// <param name="dataType">The type.</param>
    /// <returns>True for Int32, Int64, Int8 and UInt8.</returns>
    public static bool IsInteger(this DataType dataType) =>
        dataType is DataType.Int32 or DataType.Int64 or DataType.Int8 or DataType.UInt8;

    /// <summary>Tells whether elements are truth values.</summary>
    /// <param name="dataType">The type.</param>
    /// <returns>True for Boolean.</returns>
    public static bool IsBoolean(this DataType dataType) => dataType == DataType.Boolean;
}
