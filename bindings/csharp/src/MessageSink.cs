// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Heed;

/// <summary>What receives the messages of contexts. Native code knows it by its number, so that a context that outlives
/// its manager refers to nothing: the messages are then dropped.</summary>
internal sealed unsafe class MessageSink
{
    private static readonly ConcurrentDictionary<long, WeakReference<MessageSink>> Sinks = new();
#if !NET8_0_OR_GREATER
    /// <summary>Kept, since native code calls it.</summary>
    private static readonly Receiver Receive = Pass;
#endif
    private static long last;

    private readonly Action<MessageLevel, string> write;

    internal MessageSink(Action<MessageLevel, string> write)
    {
        this.write = write;
        Sinks[Number] = new WeakReference<MessageSink>(this);
    }

    ~MessageSink() => Sinks.TryRemove(Number, out _);

#if !NET8_0_OR_GREATER
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    private delegate void Receiver(long number, int level, byte* text);
#endif

    internal long Number { get; } = Interlocked.Increment(ref last);

    /// <summary>Makes a call whose failure is an answer, of which no message tells.</summary>
    internal static T WithoutMessages<T>(Func<T> call)
    {
        HeedNative.SetQuiet(1);
        try
        {
            return call();
        }
        finally
        {
            HeedNative.SetQuiet(0);
        }
    }

    /// <summary>The function that native code calls with each message.</summary>
#if NET8_0_OR_GREATER
    internal static void* Function => (delegate* unmanaged[Cdecl]<long, int, byte*, void>)&Pass;
#else
    internal static void* Function => (void*)Marshal.GetFunctionPointerForDelegate(Receive);
#endif

#if NET8_0_OR_GREATER
    [UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })]
#endif
    private static void Pass(long number, int level, byte* text)
    {
        try
        {
            if (Sinks.TryGetValue(number, out WeakReference<MessageSink>? reference)
                && reference.TryGetTarget(out MessageSink? sink))
            {
                sink.write((MessageLevel)Math.Min(level, (int)MessageLevel.Debug), NativeText.ToManaged(text));
            }
        }
        catch (Exception)
        {
            // An exception must not leave a function that native code calls.
        }
    }
}
