// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>A list of arrays: what a block takes and gives. Elements may be null where the block says so.</summary>
public sealed class NDList : List<NDArray>, IDisposable
{
    /// <summary>Makes a list.</summary>
    /// <param name="arrays">Its elements.</param>
    public NDList(params NDArray?[] arrays)
        : base((arrays ?? throw new ArgumentNullException(nameof(arrays)))!)
    {
    }

    /// <summary>The first array.</summary>
    /// <exception cref="InvalidOperationException">The list is empty, or the first element is null.</exception>
    public NDArray Head =>
        (Count > 0 ? this[0] : null) ?? throw new InvalidOperationException("the list has no first array");

    /// <summary>The only array.</summary>
    /// <returns>Element 0.</returns>
    /// <exception cref="InvalidOperationException">The list has no element or more than one, or it is
    /// null.</exception>
    public NDArray SingletonOrThrow() =>
        Count == 1 ? Head : throw new InvalidOperationException("the list has " + Count + " arrays, expected 1");

    /// <summary>The shape of each array.</summary>
    /// <returns>The shapes, null for a null element.</returns>
    public Shape?[] GetShapes() => this.Select(array => array?.Shape).ToArray();

    /// <summary>Disposes the arrays; the list keeps them.</summary>
    public void Dispose() => ForEach(array => array?.Dispose());
}
