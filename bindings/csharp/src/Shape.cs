// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Heed;

/// <summary>The sizes of an array's axes, such as (2, 4, 100). Immutable.</summary>
public sealed class Shape : IReadOnlyList<long>, IEquatable<Shape>
{
    /// <summary>DJL's letter for the layout of an axis, if the layout is unknown.</summary>
    private const char UnknownLayout = '?';
    private const int MaxEncodedAxes = 8;

    private readonly long[] dims;

    /// <summary>Makes a shape.</summary>
    /// <param name="dims">The size of each axis; none: a scalar.</param>
    public Shape(params long[] dims)
    {
        _ = dims ?? throw new ArgumentNullException(nameof(dims));
        this.dims = (long[])dims.Clone();
    }

    /// <summary>The number of axes, 0 for a scalar.</summary>
    public int Dimension => dims.Length;

    /// <summary>The number of elements: the product of the sizes, 1 for a scalar; -1 if a size is -1, which stands for
    /// an unknown size.</summary>
    /// <exception cref="OverflowException">The product is above long.MaxValue.</exception>
    public long Size => Product(dims);

    /// <summary>Whether the shape has no axis.</summary>
    public bool IsScalar => dims.Length == 0;

    /// <summary>The size of the first axis.</summary>
    /// <exception cref="InvalidOperationException">The shape is that of a scalar.</exception>
    public long Head => dims.Length > 0 ? dims[0] : throw NoAxis();

    /// <summary>The size of the last axis.</summary>
    /// <exception cref="InvalidOperationException">The shape is that of a scalar.</exception>
    public long Tail => dims.Length > 0 ? dims[dims.Length - 1] : throw NoAxis();

    int IReadOnlyCollection<long>.Count => dims.Length;

    /// <summary>The sizes themselves, not a copy, for callers that do not change them.</summary>
    internal long[] Dims => dims;

    /// <summary>The size of one axis.</summary>
    /// <param name="index">The axis, from 0.</param>
    /// <exception cref="IndexOutOfRangeException">There is no such axis.</exception>
    public long this[int index] => index >= 0 && index < dims.Length ? dims[index] : throw NoAxis(index);

    /// <summary>Tells whether both shapes have the same sizes, or are both null.</summary>
    /// <param name="left">A shape, or null.</param>
    /// <param name="right">Another shape, or null.</param>
    /// <returns>Whether they are equal.</returns>
    public static bool operator ==(Shape? left, Shape? right) => left is null ? right is null : left.Equals(right);

    /// <summary>Tells whether the sizes differ, or only one shape is null.</summary>
    /// <param name="left">A shape, or null.</param>
    /// <param name="right">Another shape, or null.</param>
    /// <returns>Whether they are not equal.</returns>
    public static bool operator !=(Shape? left, Shape? right) => !(left == right);

    /// <summary>Reads the bytes that <see cref="GetEncoded"/> returns.</summary>
    /// <param name="stream">The stream. Only the bytes of one shape are read.</param>
    /// <returns>The shape.</returns>
    /// <exception cref="EndOfStreamException">The stream ends within the shape.</exception>
    /// <exception cref="InvalidDataException">The bytes are no shape.</exception>
    public static Shape Decode(Stream stream)
    {
        _ = stream ?? throw new ArgumentNullException(nameof(stream));
        var dims = new long[ReadCount(stream, "axes")];
        for (int axis = 0; axis < dims.Length; axis++)
        {
            dims[axis] = ReadNumber(stream, sizeof(long));
        }
        int layouts = ReadCount(stream, "layouts");
        if (layouts != dims.Length)
        {
            throw new InvalidDataException($"an encoded shape has {dims.Length} axes, but layouts for {layouts}");
        }
        for (int axis = 0; axis < layouts; axis++)
        {
            ReadNumber(stream, sizeof(char));
        }
        return new Shape(dims);
    }

    /// <summary>The size of each axis.</summary>
    /// <returns>A copy of the sizes.</returns>
    public long[] ToArray() => (long[])dims.Clone();

    /// <summary>The product of the sizes of some axes.</summary>
    /// <param name="axes">The axes, from 0; none: 1.</param>
    /// <returns>The product; -1 if one of the sizes is -1.</returns>
    /// <exception cref="ArgumentOutOfRangeException">There is no such axis.</exception>
    /// <exception cref="OverflowException">The product is above long.MaxValue.</exception>
    public long GetSize(params int[] axes) =>
        Product((axes ?? throw new ArgumentNullException(nameof(axes))).Select(SizeOfAxis));

    /// <summary>Returns this shape with more axes after the last.</summary>
    /// <param name="axes">The sizes of the additional axes.</param>
    /// <returns>A new shape.</returns>
    public Shape Add(params long[] axes) =>
        new Shape(dims.Concat(axes ?? throw new ArgumentNullException(nameof(axes))).ToArray());

    /// <summary>Returns this shape followed by the axes of another one.</summary>
    /// <param name="other">The other shape.</param>
    /// <returns>A new shape.</returns>
    public Shape AddAll(Shape other) => Add((other ?? throw new ArgumentNullException(nameof(other))).dims);

    /// <summary>Returns the shape of a range of axes.</summary>
    /// <param name="beginIndex">The first axis, from 0.</param>
    /// <param name="endIndex">The index after the last axis; null: all axes to the end.</param>
    /// <returns>A new shape.</returns>
    /// <exception cref="ArgumentOutOfRangeException">An index is out of range.</exception>
    public Shape Slice(int beginIndex, int? endIndex = null)
    {
        int end = endIndex ?? dims.Length;
        if (beginIndex < 0 || beginIndex > dims.Length)
        {
            throw new ArgumentOutOfRangeException(
                nameof(beginIndex), $"{beginIndex}", $"expected 0 to {dims.Length}, the number of axes of {this}");
        }
        if (end < beginIndex || end > dims.Length)
        {
            throw new ArgumentOutOfRangeException(
                nameof(endIndex), $"{end}", $"expected {beginIndex} to {dims.Length}, the number of axes of {this}");
        }
        return new Shape(dims.Skip(beginIndex).Take(end - beginIndex).ToArray());
    }

    /// <summary>Returns the shape in DJL's encoding, which is big-endian: the number of axes (4 bytes), the size of
    /// each axis (8 bytes each), the number of axes again (4 bytes), and the layout of each axis as a UTF-16 character
    /// (2 bytes each). The character is '?', which stands for an unknown layout.</summary>
    /// <returns>The bytes.</returns>
    public byte[] GetEncoded()
    {
        var bytes = new List<byte>();
        AppendNumber(bytes, dims.Length, sizeof(int));
        foreach (long dim in dims)
        {
            AppendNumber(bytes, dim, sizeof(long));
        }
        AppendNumber(bytes, dims.Length, sizeof(int));
        foreach (long _ in dims)
        {
            AppendNumber(bytes, UnknownLayout, sizeof(char));
        }
        return bytes.ToArray();
    }

    /// <summary>Tells whether both shapes have the same sizes.</summary>
    /// <param name="other">Another shape.</param>
    /// <returns>Whether they are equal.</returns>
    public bool Equals(Shape? other) => other is not null && dims.SequenceEqual(other.dims);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as Shape);

    /// <inheritdoc/>
    public override int GetHashCode() => dims.Aggregate(1, (hash, dim) => unchecked((31 * hash) + dim.GetHashCode()));

    /// <summary>The sizes in brackets, as in (2, 4, 100).</summary>
    /// <returns>The text.</returns>
    public override string ToString() => $"({string.Join(", ", dims.Select(dim => $"{dim}"))})";

    /// <summary>Enumerates the sizes.</summary>
    /// <returns>An enumerator.</returns>
    public IEnumerator<long> GetEnumerator() => ((IEnumerable<long>)dims).GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    /// <summary>Whether the shape can have this number of elements: no size is negative, and their product is this
    /// number.</summary>
    internal bool Holds(long numElements)
    {
        try
        {
            return dims.All(dim => dim >= 0) && Size == numElements;
        }
        catch (OverflowException)
        {
            return false;
        }
    }

    private static long Product(IEnumerable<long> sizes)
    {
        if (sizes.Contains(0))
        {
            return 0;
        }
        return sizes.Contains(-1) ? -1 : sizes.Aggregate(1L, (product, size) => checked(product * size));
    }

    private static InvalidOperationException NoAxis() =>
        new InvalidOperationException("the shape is a scalar's, which has no axis");

    private IndexOutOfRangeException NoAxis(int index)
    {
        string expected = IsScalar ? "but a scalar has no axes" : $"expected 0 to {dims.Length - 1}";
        return new IndexOutOfRangeException($"index is {index}, {expected}: the shape is {this}");
    }

    private long SizeOfAxis(int axis) => axis >= 0 && axis < dims.Length
        ? dims[axis]
        : throw new ArgumentOutOfRangeException(
            nameof(axis), $"{axis}", $"expected 0 to {dims.Length - 1}, the axes of {this}");

    private static int ReadCount(Stream stream, string what)
    {
        int count = (int)ReadNumber(stream, sizeof(int));
        return count is >= 0 and <= MaxEncodedAxes
            ? count
            : throw new InvalidDataException($"an encoded shape has {count} {what}, expected 0 to {MaxEncodedAxes}");
    }

    private static long ReadNumber(Stream stream, int numBytes)
    {
        long number = 0;
        for (int i = 0; i < numBytes; i++)
        {
            int next = stream.ReadByte();
            if (next < 0)
            {
                throw new EndOfStreamException("the stream ends within an encoded shape");
            }
            number = (number << 8) | (uint)next;
        }
        return number;
    }

    private static void AppendNumber(List<byte> bytes, long number, int numBytes)
    {
        for (int i = numBytes - 1; i >= 0; i--)
        {
            bytes.Add((byte)(number >> (8 * i)));
        }
    }
}
