// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed.Tests;

/// <summary>Collects garbage on a thread of its own, again and again until it is disposed.</summary>
internal sealed class RunningCollector : IDisposable
{
    private readonly CancellationTokenSource stop = new CancellationTokenSource();
    private readonly Thread thread;

    internal RunningCollector()
    {
        thread = new Thread(() =>
        {
            while (!stop.IsCancellationRequested)
            {
                GC.Collect();
                // A collection stops all other threads, so the calls need pauses to run in.
                Thread.Sleep(1);
            }
        });
        thread.Start();
    }

    public void Dispose()
    {
        stop.Cancel();
        thread.Join();
        stop.Dispose();
    }
}
