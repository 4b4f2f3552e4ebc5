// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;

namespace Heed;

/// <summary>An index of an axis, or an end of a range of them, counted from the begin or from the end of the axis. The
/// default one is missing.</summary>
internal readonly record struct Bound
{
    /// <summary>The number that the program wrote: ^2 has the number 2.</summary>
    private readonly long number;
    private readonly bool isFromEnd;

    private Bound(long number, bool isFromEnd)
    {
        this.number = number;
        this.isFromEnd = isFromEnd;
        IsThere = true;
    }

    internal bool IsThere { get; }

    internal static Bound Of(long? number) => number is long there ? new Bound(there, false) : default;

#if NET
    internal static Bound Of(Index index) => new Bound(index.Value, index.IsFromEnd);
#endif

    /// <summary>The index from 0; below 0 if it is before the axis.</summary>
    internal long FromZero(long size) => isFromEnd ? size - number : number < 0 ? number + size : number;

    public override string ToString() =>
        IsThere ? (isFromEnd ? "^" : string.Empty) + number.ToString(CultureInfo.InvariantCulture) : string.Empty;
}
