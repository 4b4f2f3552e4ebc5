// SPDX-License-Identifier: Apache-2.0
using System;
using System.Text.RegularExpressions;

namespace Heed;

/// <summary>The exceptions for the statuses of the native library.</summary>
internal static class Errors
{
    /// <summary>SAID_CAPACITY of the wrapper: the size of a buffer that holds every sentence.</summary>
    private const int SentenceCapacity = 1024;

    /// <summary>The beginning of a sentence about an argument: its name, the index of the element that is meant, and a
    /// verb.</summary>
    private static readonly Regex Named = new Regex(
        @"^(?<name>[A-Za-z_][A-Za-z0-9_.]*(\[[^]]*\]\.[A-Za-z0-9_.]+)*)(\[[^]]*\])? "
        + "(is|are|has|have|holds|over|ran|reach|returned|shares|threw|would) ",
        RegexOptions.CultureInvariant);

    /// <summary>Throws for any status but OK. Must be called directly after the native call, on the same thread,
    /// because it reads the thread's last error.</summary>
    internal static void Check(int status)
    {
        if (status != (int)Status.Ok)
        {
            throw Of((Status)status, LastError());
        }
    }

    /// <summary>The exception for a handle that is disposed directly before a call, with heed's sentence. Not every
    /// runtime's own sentence names the handle.</summary>
    internal static ObjectDisposedException Closed(ObjectDisposedException error)
    {
        string name = error.ObjectName ?? string.Empty;
        return name.Contains(nameof(NativeLayer)) ? ClosedLayer()
            : name.Contains(nameof(NativeTensor)) ? ClosedArray()
            : name.Contains(nameof(NativeWorkspace)) ? ClosedWorkspace()
            : name.Contains(nameof(NativeWeights)) ? ClosedWeights()
            : name.Contains(nameof(NativeCache)) ? ClosedCache()
            : name.Contains(nameof(NativeOptimizer)) ? ClosedOptimizer()
            : new ObjectDisposedException("heed", "the array, block, workspace, weights, cache or manager is closed");
    }

    internal static ObjectDisposedException ClosedLayer() =>
        new ObjectDisposedException("Block", NativeLayer.ClosedSentence);

    internal static ObjectDisposedException ClosedArray() =>
        new ObjectDisposedException(nameof(NDArray), NativeTensor.ClosedSentence);

    /// <summary>The exception for an argument.</summary>
    internal static ObjectDisposedException ClosedArray(string argument) =>
        new ObjectDisposedException(nameof(NDArray), $"the array {argument} is closed");

    internal static ObjectDisposedException ClosedWorkspace() =>
        new ObjectDisposedException(nameof(Workspace), NativeWorkspace.ClosedSentence);

    internal static ObjectDisposedException ClosedWeights() =>
        new ObjectDisposedException(nameof(Weights), NativeWeights.ClosedSentence);

    internal static ObjectDisposedException ClosedCache() =>
        new ObjectDisposedException(nameof(KvCache), NativeCache.ClosedSentence);

    internal static ObjectDisposedException ClosedOptimizer() =>
        new ObjectDisposedException(nameof(Optimizer), NativeOptimizer.ClosedSentence);

    internal static ObjectDisposedException ClosedManager() =>
        new ObjectDisposedException(nameof(NDManager), "the manager is closed");

    /// <summary>The sentence of this thread's last error, with C#'s names.</summary>
    private static unsafe string LastError()
    {
        byte* sentence = stackalloc byte[SentenceCapacity];
        HeedNative.SaidError(sentence, SentenceCapacity);
        return NativeText.ToManaged(sentence);
    }

    /// <summary>The argument, or the property of one, that a sentence names at its beginning, as in "Queries is null" and
    /// "ValidLens[0, 1] is -1"; null if it names none there.</summary>
    private static string? NameIn(string sentence)
    {
        Match named = Named.Match(sentence);
        return named.Success ? named.Groups["name"].Value : null;
    }

    private static Exception Of(Status status, string sentence) => status switch
    {
        Status.InvalidArgument => new ArgumentException(sentence, NameIn(sentence)),
        Status.OutOfMemory => new OutOfMemoryException(sentence),
        Status.Unsupported => new NotSupportedException(sentence),
        Status.NotInitialized or Status.Busy => new InvalidOperationException(sentence),
        Status.CacheFull => new CacheFullException(sentence),
        Status.Cancelled => new OperationCanceledException(sentence),
        _ => new HeedException(status, sentence),
    };
}
