// SPDX-License-Identifier: Apache-2.0
using System;
using System.Buffers;
using System.Threading;

namespace Heed;

/// <summary>The memory of a native array and its views, with a count of references; the last reference releases it. It
/// is either pinned .NET memory, or heed's memory, which is added to the garbage collector's memory pressure.</summary>
internal sealed class SharedMemory
{
    private readonly long numBytes;
    private MemoryHandle pin;
    private int references = 1;
    private int version;

    private SharedMemory(MemoryHandle pin, long numBytes)
    {
        this.pin = pin;
        this.numBytes = numBytes;
    }

    /// <summary>The address of the first element of pinned memory.</summary>
    internal unsafe void* Pointer => pin.Pointer;

    /// <summary>How often arrays in this memory have been written, as far as heed sees it.</summary>
    internal int Version => Volatile.Read(ref version);

    /// <summary>Pinned memory. The caller has the first reference.</summary>
    internal static SharedMemory Pinned<T>(Memory<T> memory) => new SharedMemory(memory.Pin(), 0);

    /// <summary>Memory of heed's. The caller has the first reference.</summary>
    internal static SharedMemory OfHeed(long numBytes)
    {
        var memory = new SharedMemory(default, numBytes);
        if (numBytes > 0)
        {
            GC.AddMemoryPressure(numBytes);
        }
        return memory;
    }

    /// <summary>Counts a write.</summary>
    internal void CountWrite() => Interlocked.Increment(ref version);

    /// <summary>Releases a reference. Null is allowed.</summary>
    internal static void Release(SharedMemory? memory)
    {
        if (memory != null && Interlocked.Decrement(ref memory.references) == 0)
        {
            memory.LetGo();
        }
    }

    /// <summary>Adds a reference. Returns false if the memory has been released.</summary>
    internal bool TryAddReference()
    {
        int seen = Volatile.Read(ref references);
        while (seen > 0)
        {
            int before = Interlocked.CompareExchange(ref references, seen + 1, seen);
            if (before == seen)
            {
                return true;
            }
            seen = before;
        }
        return false;
    }

    private void LetGo()
    {
        if (numBytes > 0)
        {
            GC.RemoveMemoryPressure(numBytes);
        }
        try
        {
            pin.Dispose();
        }
        catch (Exception)
        {
            // An exception of the program's MemoryManager is ignored. On the finalizer thread it could not be
            // caught.
        }
    }
}
