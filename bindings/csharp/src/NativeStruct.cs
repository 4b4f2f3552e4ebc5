// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The base class of the generated proxies of C's structs. A new struct is initialized by its macro in heed.h.
/// Used by one thread at a time. Dispose frees the memory; if it is not called, the finalizer does.</summary>
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

    /// <summary>The pointer for an argument of a call. The caller must refer to the struct until the call ends. Zero
    /// for null.</summary>
    internal static IntPtr PointerOf(NativeStruct? native) => native is null ? IntPtr.Zero : native.Pointer;

    public void Dispose()
    {
        Free();
        GC.SuppressFinalize(this);
    }

    /// <summary>Returns the address of a member of eight bytes, because the generated setter is a native call and takes
    /// longer. The member is 0 before and after the call.</summary>
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
        // Zero if the constructor has failed.
        if (Pointer != IntPtr.Zero)
        {
            Destroy(Pointer);
            Pointer = IntPtr.Zero;
        }
    }
}
