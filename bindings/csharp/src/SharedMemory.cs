// SPDX-License-Identifier: Apache-2.0
using System;
using System.Buffers;
using System.Threading;

namespace Heed;

/// <summary>The memory that a native array and its views use, with a count of references; the last one releases it. It
/// is
/// either pinned memory of .NET's, or memory of heed's, which counts as memory pressure for the collector.</summary>
internal sealed class SharedMemory
{
    private readonly long numBytes;
    private MemoryHandle pin;
    private int references = 1;

    private SharedMemory(MemoryHandle pin, long numBytes)
    {
        this.pin = pin;
        this.numBytes = numBytes;
    }

    /// <summary>The first element of pinned memory.</summary>
    internal unsafe void* Pointer => pin.Pointer;

    /// <summary>The caller has the first reference.</summary>
    internal static SharedMemory Pinned<T>(Memory<T> memory) => new SharedMemory(memory.Pin(), 0);

    /// <summary>The caller has the first reference.</summary>
    internal static SharedMemory OfHeed(long numBytes)
    {
        var memory = new SharedMemory(default, numBytes);
        if (numBytes > 0)
        {
            GC.AddMemoryPressure(numBytes);
        }
        return memory;
    }

    /// <summary>Drops a reference. Null is allowed.</summary>
    internal static void Release(SharedMemory? memory)
    {
        if (memory != null && Interlocked.Decrement(ref memory.references) == 0)
        {
            memory.LetGo();
        }
    }

    /// <summary>False once the memory has been released.</summary>
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
            // An exception of the program's MemoryManager. On the collector's thread it could not be caught.
        }
    }
}
