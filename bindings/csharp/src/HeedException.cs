// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A failure of the native library for which .NET has no exception of its own, such as one of a file or a
/// device. A full cache is a <see cref="CacheFullException"/>.</summary>
public class HeedException : Exception
{
    internal HeedException(Status status, string sentence)
        : base(sentence)
    {
        Status = status;
    }

    /// <summary>The kind of failure.</summary>
    public Status Status { get; }
}
