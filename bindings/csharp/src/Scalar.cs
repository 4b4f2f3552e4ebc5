// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A number beside an array, made from an int, a long, a float or a double. It takes the type of the
/// array.</summary>
public readonly struct Scalar : IEquatable<Scalar>
{
    private readonly double value;
    private readonly long whole;

    /// <summary>Whether it is no long, so that default is 0.</summary>
    private readonly bool isFraction;

    private Scalar(double value, long whole, bool isFraction)
    {
        this.value = value;
        this.whole = whole;
        this.isFraction = isFraction;
    }

    private bool IsNegativeZero => value == 0 && BitConverter.DoubleToInt64Bits(value) != 0;

    /// <summary>The number as a double.</summary>
    internal double Value => value;

    /// <summary>The number as a float, rounded once.</summary>
    internal float ToFloat() => isFraction || IsNegativeZero ? (float)value : whole;

    /// <summary>A whole number.</summary>
    /// <param name="value">The number.</param>
    public static implicit operator Scalar(int value) => new Scalar(value, value, false);

    /// <summary>A whole number.</summary>
    /// <param name="value">The number.</param>
    public static implicit operator Scalar(long value) => new Scalar(value, value, false);

    /// <summary>A floating-point number.</summary>
    /// <param name="value">The number.</param>
    public static implicit operator Scalar(float value) => (double)value;

    /// <summary>A floating-point number.</summary>
    /// <param name="value">The number.</param>
    public static implicit operator Scalar(double value) =>
        value is >= -9223372036854775808.0 and < 9223372036854775808.0 && value == Math.Truncate(value)
            ? new Scalar(value, (long)value, false) : new Scalar(value, 0, true);

    /// <summary>Whether two numbers are equal.</summary>
    /// <param name="a">A number.</param>
    /// <param name="b">Another number.</param>
    /// <returns>Whether they are equal.</returns>
    public static bool operator ==(Scalar a, Scalar b) => a.Equals(b);

    /// <summary>Whether two numbers differ.</summary>
    /// <param name="a">A number.</param>
    /// <param name="b">Another number.</param>
    /// <returns>Whether they differ.</returns>
    public static bool operator !=(Scalar a, Scalar b) => !a.Equals(b);

    /// <summary>Whether another number is equal.</summary>
    /// <param name="other">The other number.</param>
    /// <returns>Whether it is equal; NaN is equal to NaN.</returns>
    public bool Equals(Scalar other) => value.Equals(other.value) && whole == other.whole;

    /// <summary>Whether an object is an equal number.</summary>
    /// <param name="obj">Any object, or null.</param>
    /// <returns>Whether it is.</returns>
    public override bool Equals(object? obj) => obj is Scalar other && Equals(other);

    /// <summary>A hash code that follows from the number.</summary>
    /// <returns>The hash code.</returns>
    public override int GetHashCode() => value.GetHashCode();

    /// <summary>The number, in the invariant culture.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => isFraction ? $"{value}" : $"{whole}";

    /// <summary>An array that has the number as its element.</summary>
    internal NDArray ToArray() => isFraction || IsNegativeZero ? (NDArray)value : (NDArray)whole;

    /// <summary>The number as an integer of a type.</summary>
    /// <exception cref="ArgumentException">The type does not hold it; the sentence has the name.</exception>
    internal long ToWhole(string name, DataType type, long least, long largest)
    {
        if (isFraction && (double.IsNaN(value) || double.IsInfinity(value) || value != Math.Truncate(value)))
        {
            throw new ArgumentException(
                $"{name} is {this}, expected a whole number for an array of {type}: "
                + "use ToType to make it one of Float32",
                name);
        }
        return !isFraction && whole >= least && whole <= largest ? whole : throw new ArgumentException(
            $"{name} is {this}, expected {least} to {largest} for an array of {type}", name);
    }
}
