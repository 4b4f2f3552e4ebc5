// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>The native memory of unreachable objects whose finalizers have not run yet.</summary>
internal static class ForgottenMemory
{
    /// <summary>The longest wait for finalizers. It is limited, because a finalizer of the program may wait for this
    /// thread.</summary>
    private const int MaxWaitMilliseconds = 500;

    /// <summary>For a call that found no native memory: starts a garbage collection, and waits until unreachable
    /// objects are freed.</summary>
    /// <param name="attempt">How often the call was repeated before, from 0.</param>
    /// <returns>True if the caller should repeat the call; false if it was repeated often enough.</returns>
    internal static bool FreeForgotten(int attempt)
    {
        if (attempt > 0)
        {
            return false;
        }
        GC.Collect();
        var waiting = new Thread(GC.WaitForPendingFinalizers) { IsBackground = true };
        try
        {
            waiting.Start();
            waiting.Join(MaxWaitMilliseconds);
        }
        catch (OutOfMemoryException)
        {
            // There is no memory for a thread either.
            Thread.Sleep(MaxWaitMilliseconds);
        }
        catch (ThreadInterruptedException)
        {
            // The interruption is restored for the program's next wait.
            Thread.CurrentThread.Interrupt();
        }
        return true;
    }
}
