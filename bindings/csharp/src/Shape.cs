// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>The sizes of an array's axes, as (2, 4, 100). Immutable.</summary>
public sealed class Shape : IReadOnlyList<long>, IEquatable<Shape>
{
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

    /// <summary>The number of elements: the product of the sizes, 1 for a scalar.</summary>
    /// <exception cref="OverflowException">It is above long.MaxValue.</exception>
    public long Size => dims.Aggregate(1L, (size, dim) => checked(size * dim));

    int IReadOnlyCollection<long>.Count => dims.Length;

    /// <summary>The dims themselves, for callers that do not change them.</summary>
    internal long[] Dims => dims;

    /// <summary>The size of one axis.</summary>
    /// <param name="index">The axis, from 0.</param>
    /// <exception cref="IndexOutOfRangeException">There is no such axis.</exception>
    public long this[int index] => dims[index];

    /// <summary>The size of each axis.</summary>
    /// <returns>A copy of the sizes.</returns>
    public long[] ToArray() => (long[])dims.Clone();

    /// <summary>Tells whether both have the same sizes.</summary>
    /// <param name="other">Another shape.</param>
    /// <returns>Whether they are equal.</returns>
    public bool Equals(Shape? other) => other is not null && dims.SequenceEqual(other.dims);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as Shape);

    /// <inheritdoc/>
    public override int GetHashCode() => dims.Aggregate(1, (hash, dim) => unchecked((31 * hash) + dim.GetHashCode()));

    /// <summary>The sizes in brackets, as (2, 4, 100).</summary>
    /// <returns>The text.</returns>
    public override string ToString() => "(" + string.Join(", ", dims) + ")";

    /// <summary>The sizes, one after the other.</summary>
    /// <returns>An enumerator.</returns>
    public IEnumerator<long> GetEnumerator() => ((IEnumerable<long>)dims).GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
