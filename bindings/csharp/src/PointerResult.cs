// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A status and a new native object, as the wrapper returns them.</summary>
internal readonly struct PointerResult
{
#pragma warning disable CS0649 // The wrapper fills it.
    private readonly int status;
    private readonly IntPtr value;
#pragma warning restore CS0649

    /// <summary>Whether the call failed because the library does not support it.</summary>
    internal bool IsUnsupported => status == (int)Status.Unsupported;

    internal IntPtr Check()
    {
        Errors.Check(status);
        return value;
    }
}
