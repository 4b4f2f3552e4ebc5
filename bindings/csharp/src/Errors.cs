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

    /// <summary>What the runtime throws for a handle that is disposed, with heed's sentence.</summary>
    internal static ObjectDisposedException Closed(ObjectDisposedException error) =>
        error.ObjectName.Contains(nameof(NativeLayer)) ? ClosedLayer()
        : error.ObjectName.Contains(nameof(NativeTensor)) ? ClosedArray()
        : error;

    internal static ObjectDisposedException ClosedLayer() =>
        new ObjectDisposedException(nameof(MultiHeadAttention), NativeLayer.ClosedSentence);

    internal static ObjectDisposedException ClosedArray() =>
        new ObjectDisposedException(nameof(NDArray), NativeTensor.ClosedSentence);

    private static Exception Of(Status status, string sentence) => status switch
    {
        Status.InvalidArgument => new ArgumentException(sentence),
        Status.OutOfMemory => new OutOfMemoryException(sentence),
        Status.Unsupported => new NotSupportedException(sentence),
        Status.NotInitialized or Status.Busy => new InvalidOperationException(sentence),
        _ => new HeedException(status, sentence),
    };
}
