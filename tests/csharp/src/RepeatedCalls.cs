// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed.Tests;

/// <summary>A thread that makes the same call again and again until it throws.</summary>
internal sealed class RepeatedCalls
{
    private readonly Thread thread;
    private Exception? end;

    /// <summary>Returns when the first call has ended.</summary>
    internal RepeatedCalls(Action call)
    {
        var firstHasEnded = new ManualResetEventSlim();
        thread = new Thread(() =>
        {
            try
            {
                while (true)
                {
                    call();
                    firstHasEnded.Set();
                }
            }
            catch (Exception error)
            {
                end = error;
                firstHasEnded.Set();
            }
        });
        thread.Start();
        firstHasEnded.Wait();
    }

    /// <summary>Waits until a call throws, and returns what it threw.</summary>
    internal Exception End()
    {
        thread.Join();
        return end!;
    }
}
