// SPDX-License-Identifier: Apache-2.0
using System.Threading;

namespace Heed;

/// <summary>A lock that many users or one writer hold, and that waiting writers get before new users. Unlike .NET's
/// ReaderWriterLockSlim, of which an interrupted thread may keep what it lets go, it is always let go. Not to be taken
/// by a thread that has it.</summary>
internal sealed class UseLock
{
    private const int Written = -1;

    private readonly object gate = new object();

    /// <summary>How many use what is locked, or <see cref="Written"/>.</summary>
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
                    // Interrupted: the users that wait for this writer may go on.
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

    /// <summary>Takes a monitor even if the thread is interrupted, whose next wait then throws.</summary>
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
