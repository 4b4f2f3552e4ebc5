// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The base of the generated proxies of C's structs. A new struct has the values of its macro in heed.h. Used
/// by
/// one thread at a time. Dispose frees the memory; if nobody calls it, the finalizer does.</summary>
internal abstract class NativeStruct : IDisposable
{
    private protected NativeStruct(IntPtr pointer)
    {
        Pointer = pointer != IntPtr.Zero
            ? pointer
            : throw new OutOfMemoryException("no native memory for a struct");
    }

    ~NativeStruct() => Free();

    private protected IntPtr Pointer { get; private set; }

    /// <summary>For an argument of a call, during which the caller refers to the struct. Zero for null.</summary>
    internal static IntPtr PointerOf(NativeStruct? native) => native is null ? IntPtr.Zero : native.Pointer;

    public void Dispose()
    {
        Free();
        GC.SuppressFinalize(this);
    }

    /// <summary>Finds where a member of eight bytes is, for calls that have no time for the generated setter, which is
    /// a
    /// native call. The member is 0 now and afterwards.</summary>
    internal unsafe long* AddressOf(Action<long> setter)
    {
        setter(-1);
        var member = (long*)Pointer;
        while (*member != -1)
        {
            member++;
        }
        setter(0);
        return member;
    }

    private protected abstract void Destroy(IntPtr pointer);

    private void Free()
    {
        // Zero where the constructor has failed.
        if (Pointer != IntPtr.Zero)
        {
            Destroy(Pointer);
            Pointer = IntPtr.Zero;
        }
    }
}
