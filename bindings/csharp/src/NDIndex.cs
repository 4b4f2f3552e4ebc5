// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;

namespace Heed;

/// <summary>What is taken of one axis of an array, as in NumPy: an index, which removes the axis, or a range of indices,
/// which keeps it; <see cref="Ellipsis"/>, as many whole axes as are left; or <see cref="NewAxis"/>. Whole numbers, and
/// in Heed.dll for .NET 8 also Index and Range, convert to it: <c>array[0, 1..3, ^1]</c>.</summary>
/// <remarks>Negative numbers count from the end. Unlike in NumPy, a range that is not within its axis, or that ends
/// before its begin, is refused by the array, not shortened. Every one of these parts gives a view; arrays of indices
/// and masks, which copy, would be kinds of their own.</remarks>
public readonly struct NDIndex
{
    private readonly Bound begin;
    private readonly Bound end;
    private readonly long? step;

    private NDIndex(IndexKind kind, Bound begin, Bound end, long? step)
    {
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

    /// <summary>Whether the part stands for exactly one axis of the array.</summary>
    internal bool TakesAxis => Kind is IndexKind.Index or IndexKind.Range;

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
    /// <returns>A text such as "2", "1..^1", "..", "..5 by 2", "..." or "new axis".</returns>
    public override string ToString() => Kind switch
    {
        IndexKind.Index => $"{begin}",
        IndexKind.Ellipsis => "...",
        IndexKind.NewAxis => "new axis",
        _ => $"{begin}..{end}{(step is null ? string.Empty : $" by {step.Value.ToString(CultureInfo.InvariantCulture)}")}",
    };
}
