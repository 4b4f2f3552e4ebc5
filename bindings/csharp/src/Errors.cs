// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>What a status becomes in .NET.</summary>
internal static class Errors
{
    /// <summary>Throws for any status but OK. Called right after the native call, on its thread, whose last error
    /// it reads.</summary>
    internal static unsafe void Check(int status)
    {
        if (status != (int)Status.Ok)
        {
            throw Of((Status)status, NativeText.ToManaged(HeedNative.HeedLastError()));
        }
    }

    private static Exception Of(Status status, string sentence) => status switch
    {
        Status.InvalidArgument => new ArgumentException(sentence),
        Status.OutOfMemory => new OutOfMemoryException(sentence),
        Status.Unsupported => new NotSupportedException(sentence),
        Status.NotInitialized or Status.Busy => new InvalidOperationException(sentence),
        _ => new HeedException(status, sentence),
    };
}
