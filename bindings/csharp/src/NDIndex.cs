// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;

namespace Heed;

/// <summary>What is taken of one axis of an array, as in NumPy: an index, which removes the axis, or a range of indices,
/// which keeps it; <see cref="Ellipsis"/>, as many whole axes as are left; <see cref="NewAxis"/>; or what an array of
/// indices or a mask chooses. Whole numbers, arrays, and in Heed.dll for .NET 8 also Index and Range, convert to it:
/// <c>array[0, 1..3, ^1]</c>, <c>array[array &lt; 0]</c>.</summary>
/// <remarks>Negative numbers count from the end. Unlike in NumPy, a range that is not within its axis, or that ends
/// before its begin, is refused by the array, not shortened. An array of Int32 or Int64 has indices of one axis, whose
/// place its own axes take. A Boolean array is a mask of as many axes as it has, which become one axis of the elements
/// where it is true. An index has at most one of them, and is then read as a copy; the other parts give views. As in
/// NumPy, the axes of the array come first if there are numbers in the index, but not all of them beside it.</remarks>
public readonly struct NDIndex
{
    private readonly Bound begin;
    private readonly Bound end;
    private readonly long? step;

    private NDIndex(NDArray array)
        : this(IndexKind.Array, default, default, null) => Array = array;

    private NDIndex(IndexKind kind, Bound begin, Bound end, long? step)
    {
        Array = null;
        Kind = kind;
        this.begin = begin;
        this.end = end;
        this.step = step;
    }

    /// <summary>As many whole axes as the other indices leave; at most once.</summary>
    public static NDIndex Ellipsis => new NDIndex(IndexKind.Ellipsis, default, default, null);

    /// <summary>A new axis of size 1.</summary>
    public static NDIndex NewAxis => new NDIndex(IndexKind.NewAxis, default, default, null);

    /// <summary>What the part does to an axis.</summary>
    internal IndexKind Kind { get; }

    /// <summary>The indices along an axis, or the mask of as many axes as it has; null for other kinds.</summary>
    internal NDArray? Array { get; }

    internal bool IsMask => Array?.ElementType == DataType.Boolean;

    /// <summary>How many axes of the array the part stands for; 0 for an ellipsis.</summary>
    internal int NumAxes => Array is { } array ? (IsMask ? array.Shape.Dimension : 1)
        : Kind is IndexKind.Index or IndexKind.Range ? 1 : 0;

    /// <summary>The index, or the first one of a range.</summary>
    internal Bound Begin => begin;

    /// <summary>The index after the last one of a range.</summary>
    internal Bound End => end;

    /// <summary>The difference between the indices of a range.</summary>
    internal long Step => step ?? 1;

    /// <summary>An index.</summary>
    /// <param name="index">The index; a negative one counts from the end.</param>
    public static implicit operator NDIndex(long index) =>
        new NDIndex(IndexKind.Index, Bound.Of(index), default, null);

#if NET
    /// <summary>An index.</summary>
    /// <param name="index">The index, such as ^1 for the last one.</param>
    public static implicit operator NDIndex(Index index) =>
        new NDIndex(IndexKind.Index, Bound.Of(index), default, null);

    /// <summary>A range of indices.</summary>
    /// <param name="range">The range, such as 1..^1; the .. alone is the whole axis.</param>
    public static implicit operator NDIndex(Range range) =>
        new NDIndex(IndexKind.Range, Bound.Of(range.Start), Bound.Of(range.End), null);
#endif

    /// <summary>What an array of indices or a mask chooses.</summary>
    /// <param name="array">Indices of one axis, of Int32 or Int64; or a mask of as many axes as it has, which is Boolean.
    /// It must be open while the index is used.</param>
    /// <exception cref="ArgumentException">The array is of another type, or a mask without axes.</exception>
    public static implicit operator NDIndex(NDArray array)
    {
        DataType type = (array ?? throw new ArgumentNullException(nameof(array))).DataType;
        if (type is not (DataType.Int32 or DataType.Int64 or DataType.Boolean))
        {
            throw new ArgumentException(
                $"array is of {type}, expected Int32 or Int64 for indices, or Boolean for a mask: use ToType",
                nameof(array));
        }
        return type != DataType.Boolean || !array.Shape.IsScalar ? new NDIndex(array) : throw new ArgumentException(
            "array is a mask of shape (), expected at least one axis", nameof(array));
    }

    /// <summary>A range of indices, with a step.</summary>
    /// <param name="start">The first index; a negative one counts from the end. null: 0, or the last index if the step
    /// is negative.</param>
    /// <param name="stop">The index that the range stops before, likewise. null: it goes on to the end, or to index 0 if
    /// the step is negative.</param>
    /// <param name="step">The difference between the indices. If it is negative, the range runs backwards.</param>
    /// <returns>The range; without arguments the whole axis.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The step is 0.</exception>
    public static NDIndex Slice(long? start = null, long? stop = null, long step = 1) => step != 0
        ? new NDIndex(IndexKind.Range, Bound.Of(start), Bound.Of(stop), step == 1 ? null : step)
        : throw new ArgumentOutOfRangeException(nameof(step), $"{step}", "expected another number than 0");

    /// <summary>Describes what is taken.</summary>
    /// <returns>A text such as "2", "1..^1", "..", "..5 by 2", "...", "new axis" or "array (3) int64".</returns>
    public override string ToString() => Kind switch
    {
        IndexKind.Index => $"{begin}",
        IndexKind.Ellipsis => "...",
        IndexKind.NewAxis => "new axis",
        IndexKind.Array => $"array {Array!.Description}",
        _ => $"{begin}..{end}{(step is null ? string.Empty : $" by {step.Value.ToString(CultureInfo.InvariantCulture)}")}",
    };
}
