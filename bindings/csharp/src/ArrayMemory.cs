// SPDX-License-Identifier: Apache-2.0
using System;
using System.Buffers;

namespace Heed;

/// <summary>The memory of an array. Holds a view of its own, which keeps the memory until nothing refers to this
/// object.</summary>
internal sealed unsafe class ArrayMemory<T> : MemoryManager<T>
    where T : unmanaged
{
    private readonly NativeTensor view;
    private readonly T* start;
    private readonly int length;

    internal ArrayMemory(NativeTensor view, int length)
    {
        this.view = view;
        this.length = length;
        start = (T*)view.Data();
    }

    public override Span<T> GetSpan()
    {
        CheckOpen();
        return new Span<T>(start, length);
    }

    /// <summary>The handle refers to this object.</summary>
    public override MemoryHandle Pin(int elementIndex = 0)
    {
        CheckOpen();
        return elementIndex >= 0 && elementIndex <= length
            ? new MemoryHandle(start + elementIndex, pinnable: this)
            : throw new ArgumentOutOfRangeException(nameof(elementIndex), $"{elementIndex}", $"expected 0 to {length}");
    }

    public override void Unpin()
    {
    }

    /// <summary>Called only if a program asks for the owner of the memory.</summary>
    protected override void Dispose(bool disposing) => view.Dispose();

    private void CheckOpen()
    {
        if (view.SafeHandle.IsDisposed)
        {
            throw Errors.ClosedArray();
        }
    }
}
