// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A failure of the native library for which .NET has no exception of its own: of a file or a device, for
/// example.</summary>
public sealed class HeedException : Exception
{
    internal HeedException(Status status, string sentence)
        : base(sentence)
    {
        Status = status;
    }

    /// <summary>What kind of failure it was.</summary>
    public Status Status { get; }
}
