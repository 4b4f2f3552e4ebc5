// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Operators. Each makes a new array, which belongs to the manager of the first array, and throws what the
/// method throws that it stands for.</content>
public sealed partial class NDArray
{
    /// <summary>Adds two arrays. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator +(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Add(b);

    /// <summary>Adds a number to each element.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator +(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Add(b);

    /// <summary>Adds each element to a number.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator +(Scalar a, NDArray b) =>
        OfNumber(ElementFunction.Add, a, b);

    /// <summary>Subtracts an array from another. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator -(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Subtract(b);

    /// <summary>Subtracts a number from each element.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator -(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Subtract(b);

    /// <summary>Subtracts each element from a number.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator -(Scalar a, NDArray b) =>
        OfNumber(ElementFunction.Subtract, a, b);

    /// <summary>Multiplies two arrays, element by element. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator *(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Multiply(b);

    /// <summary>Multiplies each element by a number.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator *(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Multiply(b);

    /// <summary>Multiplies a number by each element.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator *(Scalar a, NDArray b) =>
        OfNumber(ElementFunction.Multiply, a, b);

    /// <summary>Divides an array by another, element by element. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator /(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Divide(b);

    /// <summary>Divides each element by a number.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator /(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Divide(b);

    /// <summary>Divides a number by each element.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator /(Scalar a, NDArray b) =>
        OfNumber(ElementFunction.Divide, a, b);

    /// <summary>The remainders of a division, with the sign of the divisor. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator %(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Remainder(b);

    /// <summary>The remainders of the elements that are divided by a number, with its sign.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator %(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Remainder(b);

    /// <summary>The remainders of a number that is divided by each element, with its sign.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator %(Scalar a, NDArray b) =>
        OfNumber(ElementFunction.Remainder, a, b);

    /// <summary>Changes the sign of each element.</summary>
    /// <param name="a">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator -(NDArray a) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Negate();

    /// <summary>Tells which elements of an array are less than those of another. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator <(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Lt(b);

    /// <summary>Tells which elements are less than a number.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator <(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Lt(b);

    /// <summary>Tells which elements a number is less than.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator <(Scalar a, NDArray b) =>
        (b ?? throw new ArgumentNullException(nameof(b))).Gt(a);

    /// <summary>Tells which elements of an array are at most those of another. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator <=(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Lte(b);

    /// <summary>Tells which elements are at most a number.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator <=(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Lte(b);

    /// <summary>Tells which elements a number is at most.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator <=(Scalar a, NDArray b) =>
        (b ?? throw new ArgumentNullException(nameof(b))).Gte(a);

    /// <summary>Tells which elements of an array are greater than those of another. Their shapes are
    /// broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator >(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Gt(b);

    /// <summary>Tells which elements are greater than a number.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator >(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Gt(b);

    /// <summary>Tells which elements a number is greater than.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator >(Scalar a, NDArray b) =>
        (b ?? throw new ArgumentNullException(nameof(b))).Lt(a);

    /// <summary>Tells which elements of an array are at least those of another. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator >=(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Gte(b);

    /// <summary>Tells which elements are at least a number.</summary>
    /// <param name="a">The array.</param>
    /// <param name="b">The number, which takes the type of the array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator >=(NDArray a, Scalar b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).Gte(b);

    /// <summary>Tells which elements a number is at least.</summary>
    /// <param name="a">The number, which takes the type of the array.</param>
    /// <param name="b">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator >=(Scalar a, NDArray b) =>
        (b ?? throw new ArgumentNullException(nameof(b))).Lte(a);

    /// <summary>Tells where both arrays are true. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator &(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).LogicalAnd(b);

    /// <summary>Tells where at least one of the arrays is true. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator |(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).LogicalOr(b);

    /// <summary>Tells where exactly one of the arrays is true. Their shapes are broadcast.</summary>
    /// <param name="a">The first array.</param>
    /// <param name="b">The second array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator ^(NDArray a, NDArray b) =>
        (a ?? throw new ArgumentNullException(nameof(a))).LogicalXor(b);

    /// <summary>Tells which elements are not true.</summary>
    /// <param name="a">The array.</param>
    /// <returns>A new array.</returns>
    public static NDArray operator !(NDArray a) =>
        (a ?? throw new ArgumentNullException(nameof(a))).LogicalNot();
}
