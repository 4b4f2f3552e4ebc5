// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A view of an array that a backward reads, and how often the array had been written when it was taken.</summary>
internal struct HeldArray
{
    private readonly int version;

    internal HeldArray(NDArray array, NDManager owner)
    {
        version = array.Version;
        Array = array.Shared(owner.On(array.Device));
    }

    /// <summary>The view; null if nothing is held.</summary>
    internal NDArray? Array { get; private set; }

    /// <summary>Throws if the array has been written since.</summary>
    internal readonly void Check(string operation, string operand)
    {
        if (Array != null && Array.Version != version)
        {
            throw new InvalidOperationException(
                $"{operand} of {operation} has been written since: expected the same elements until backward");
        }
    }

    internal void Release()
    {
        Array?.Dispose();
        Array = null;
    }
}
