// SPDX-License-Identifier: Apache-2.0
using System.Threading;

namespace Heed;

/// <summary>A lock that many users or one writer hold. A waiting writer gets it before new users. Unlike with .NET's
/// ReaderWriterLockSlim, ExitReadLock and ExitWriteLock always release it, even if the thread is interrupted meanwhile.
/// Not reentrant.</summary>
internal sealed class UseLock
{
    private const int Written = -1;

    private readonly object gate = new object();

    /// <summary>The number of users, or <see cref="Written"/>.</summary>
    private int users;
    private int waitingWriters;

    internal void EnterReadLock()
    {
        lock (gate)
        {
            while (users == Written || waitingWriters > 0)
            {
                Monitor.Wait(gate);
            }
            users++;
        }
    }

    internal void ExitReadLock()
    {
        EnterAnyway(gate);
        users--;
        if (users == 0 && waitingWriters > 0)
        {
            Monitor.PulseAll(gate);
        }
        Monitor.Exit(gate);
    }

    internal void EnterWriteLock()
    {
        lock (gate)
        {
            waitingWriters++;
            try
            {
                while (users != 0)
                {
                    Monitor.Wait(gate);
                }
                users = Written;
            }
            finally
            {
                waitingWriters--;
                if (users != Written)
                {
                    // Interrupted: the users that wait for this writer may continue.
                    Monitor.PulseAll(gate);
                }
            }
        }
    }

    internal void ExitWriteLock()
    {
        EnterAnyway(gate);
        users = 0;
        Monitor.PulseAll(gate);
        Monitor.Exit(gate);
    }

    /// <summary>Enters a monitor even if the thread is interrupted; the thread's next wait then throws.</summary>
    internal static void EnterAnyway(object monitor)
    {
        bool isInterrupted = false;
        while (true)
        {
            try
            {
                Monitor.Enter(monitor);
                break;
            }
            catch (ThreadInterruptedException)
            {
                isInterrupted = true;
            }
        }
        if (isInterrupted)
        {
            Thread.CurrentThread.Interrupt();
        }
    }
}
