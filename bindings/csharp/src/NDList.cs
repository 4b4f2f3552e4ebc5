// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>A list of arrays: what a block takes and gives. Elements may be null where the block says so.</summary>
public sealed class NDList : List<NDArray>, IDisposable
{
    /// <summary>Makes an empty list.</summary>
    public NDList()
    {
    }

    /// <summary>Makes an empty list.</summary>
    /// <param name="capacity">How many arrays it takes without growing.</param>
    /// <exception cref="ArgumentOutOfRangeException">The capacity is negative.</exception>
    public NDList(int capacity)
        : base(capacity)
    {
    }

    /// <summary>Makes a list.</summary>
    /// <param name="arrays">Its elements.</param>
    public NDList(params NDArray?[] arrays)
        : base((arrays ?? throw new ArgumentNullException(nameof(arrays)))!)
    {
    }

    /// <summary>Makes a list.</summary>
    /// <param name="arrays">Its elements.</param>
    public NDList(IEnumerable<NDArray?> arrays)
        : base((arrays ?? throw new ArgumentNullException(nameof(arrays)))!)
    {
    }

    /// <summary>The first array.</summary>
    /// <exception cref="InvalidOperationException">The list is empty, or the first element is null.</exception>
    public NDArray Head =>
        (Count > 0 ? this[0] : null) ?? throw new InvalidOperationException("the list has no first array");

    /// <summary>The first array of that <see cref="NDArray.Name"/>; null if there is none.</summary>
    /// <param name="name">The name.</param>
    public NDArray? this[string name]
    {
        get
        {
            _ = name ?? throw new ArgumentNullException(nameof(name));
            return Find(array => array?.Name == name);
        }
    }

    /// <summary>The only array.</summary>
    /// <returns>Element 0.</returns>
    /// <exception cref="InvalidOperationException">The list has no element or more than one, or it is
    /// null.</exception>
    public NDArray SingletonOrThrow() =>
        Count == 1 ? Head : throw new InvalidOperationException("the list has " + Count + " arrays, expected 1");

    /// <summary>The shape of each array.</summary>
    /// <returns>The shapes, null for a null element.</returns>
    public Shape?[] GetShapes() => this.Select(array => array?.Shape).ToArray();

    /// <summary>Adds the arrays of another list at the end.</summary>
    /// <param name="other">The other list, which may be this one.</param>
    /// <returns>This list.</returns>
    public NDList AddAll(NDList other)
    {
        AddRange(other ?? throw new ArgumentNullException(nameof(other)));
        return this;
    }

    /// <summary>The arrays from one on.</summary>
    /// <param name="fromIndex">The first, from 0 to Count.</param>
    /// <returns>A new list of the same arrays.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The index is out of range.</exception>
    public NDList SubNDList(int fromIndex) => fromIndex >= 0 && fromIndex <= Count
        ? new NDList(this.Skip(fromIndex))
        : throw new ArgumentOutOfRangeException(nameof(fromIndex), fromIndex, "expected 0 to " + Count);

    /// <summary>The arrays on a device, as <see cref="NDArray.ToDevice"/> gives each.</summary>
    /// <param name="device">The device.</param>
    /// <param name="copy">Whether to copy arrays even if they are on it.</param>
    /// <returns>A new list, null where an element is null.</returns>
    public NDList ToDevice(Device device, bool copy = false)
    {
        _ = device ?? throw new ArgumentNullException(nameof(device));
        return new NDList(this.Select(array => array?.ToDevice(device, copy)));
    }

    /// <summary>Hands the arrays to another manager, as <see cref="NDArray.Attach"/> does.</summary>
    /// <param name="manager">Their owner from now on.</param>
    public void Attach(NDManager manager)
    {
        _ = manager ?? throw new ArgumentNullException(nameof(manager));
        ForEach(array => array?.Attach(manager));
    }

    /// <summary>Takes the arrays from their managers, as <see cref="NDArray.Detach"/> does.</summary>
    public void Detach() => ForEach(array => array?.Detach());

    /// <summary>Disposes the arrays; the list keeps them.</summary>
    public void Dispose() => ForEach(array => array?.Dispose());
}
