// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Heed;

/// <summary>Native calls of this thread that end when a token is cancelled, or that of a call around them, and the reports
/// of a load.</summary>
internal sealed unsafe class StoppableCall
{
#if !NET8_0_OR_GREATER
    /// <summary>Kept, since native code calls it.</summary>
    private static readonly Report Passing = Pass;
#endif

    /// <summary>That of this thread; null: its calls run to their end.</summary>
    [ThreadStatic]
    private static StoppableCall? current;

    private readonly IProgress<LoadProgress>? progress;
    private readonly CancellationToken token;
    private readonly StoppableCall? outer;

    /// <summary>What the progress has thrown.</summary>
    private ExceptionDispatchInfo? thrown;

    private StoppableCall(IProgress<LoadProgress>? progress, CancellationToken token, StoppableCall? outer)
    {
        this.progress = progress;
        this.token = token;
        this.outer = outer;
    }

#if !NET8_0_OR_GREATER
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    private delegate int Report(IntPtr user, long done, long total);
#endif

    internal static StoppableCall? Current => current;

    /// <summary>A token that is cancelled, of this call or of one around it; if there is none, one that cannot
    /// be.</summary>
    private CancellationToken Cancelled =>
        token.IsCancellationRequested ? token : outer?.Cancelled ?? CancellationToken.None;

#if NET8_0_OR_GREATER
    private static void* Function => (delegate* unmanaged[Cdecl]<IntPtr, long, long, int>)&Pass;
#else
    private static void* Function => (void*)Marshal.GetFunctionPointerForDelegate(Passing);
#endif

    /// <summary>Runs code whose native calls end when the token is cancelled.</summary>
    internal static void With(CancellationToken token, Action code) => With(token, () =>
    {
        code();
        return true;
    });

    /// <summary>Runs code whose native calls end when the token is cancelled.</summary>
    internal static T With<T>(CancellationToken token, Func<T> code, IProgress<LoadProgress>? progress = null)
    {
        if (!token.CanBeCanceled && progress is null)
        {
            Check();
            return code();
        }
        StoppableCall? before = current;
        var call = new StoppableCall(progress, token, before);
        call.Cancelled.ThrowIfCancellationRequested();
        current = call;
        try
        {
            return code();
        }
        finally
        {
            current = before;
        }
    }

    /// <summary>Throws if this thread's calls are to end.</summary>
    internal static void Check() => current?.Cancelled.ThrowIfCancellationRequested();

    /// <summary>Makes a native call, which gets the address of its heed_progress.</summary>
    internal void Run(Action<IntPtr> call)
    {
        GCHandle self = GCHandle.Alloc(this);
        var native = new NativeProgress
        {
            StructSize = (UIntPtr)(uint)sizeof(NativeProgress),
            Report = Function,
            User = GCHandle.ToIntPtr(self),
        };
        try
        {
            call((IntPtr)(&native));
        }
        catch (OperationCanceledException)
        {
            thrown?.Throw();
            throw new OperationCanceledException("the token is cancelled, so the call was stopped", Cancelled);
        }
        finally
        {
            self.Free();
        }
    }

    /// <summary>The function that native code calls with each report; not 0: the call ends.</summary>
#if NET8_0_OR_GREATER
    [UnmanagedCallersOnly(CallConvs = new[] { typeof(CallConvCdecl) })]
#endif
    private static int Pass(IntPtr user, long done, long total)
    {
        var self = (StoppableCall)GCHandle.FromIntPtr(user).Target!;
        StoppableCall? before = current;

        // What the progress computes with heed are other calls.
        current = null;
        try
        {
            self.progress?.Report(new LoadProgress(done, total));
            return self.Cancelled.IsCancellationRequested ? 1 : 0;
        }
        catch (Exception error)
        {
            // An exception must not leave a function that native code calls.
            self.thrown = ExceptionDispatchInfo.Capture(error);
            return 1;
        }
        finally
        {
            current = before;
        }
    }

    /// <summary>heed_progress.</summary>
    private struct NativeProgress
    {
        internal UIntPtr StructSize;
        internal void* Report;
        internal IntPtr User;
    }
}
