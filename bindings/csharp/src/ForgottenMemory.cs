// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>The native memory of objects that nobody refers to any more, and whose finalizers have not run yet.</summary>
internal static class ForgottenMemory
{
    /// <summary>The longest wait for finalizers, among which may be the program's own, which may wait for this
    /// thread.</summary>
    private const int MaxWaitMilliseconds = 500;

    /// <summary>For a call that found no native memory: has the collector look for forgotten objects, and waits until
    /// they are freed.</summary>
    /// <param name="attempt">How often the call was made again before, from 0.</param>
    /// <returns>True if the call is to be made again; false if that was done.</returns>
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
            // There is none for a thread either.
            Thread.Sleep(MaxWaitMilliseconds);
        }
        catch (ThreadInterruptedException)
        {
            // The interruption is kept for the program's next wait.
            Thread.CurrentThread.Interrupt();
        }
        return true;
    }
}
