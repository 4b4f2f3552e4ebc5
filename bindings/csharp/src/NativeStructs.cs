// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Heed;

/// <summary>C's structs of options for one call, some of which point to others or to arrays. Dispose, after the call,
/// frees them all.</summary>
internal sealed unsafe class NativeStructs : IDisposable
{
    private readonly List<NativeStruct> structs = new List<NativeStruct>();
    private readonly List<GCHandle> pinned = new List<GCHandle>();

    /// <summary>Adds a struct.</summary>
    internal TStruct Add<TStruct>(TStruct native)
        where TStruct : NativeStruct
    {
        structs.Add(native);
        return native;
    }

    /// <summary>The address of an array, which stays where it is. Null for null.</summary>
    /// <typeparam name="T">The type of the elements.</typeparam>
    internal T* Pin<T>(T[]? array)
        where T : unmanaged
    {
        if (array is null)
        {
            return null;
        }
        GCHandle handle = GCHandle.Alloc(array, GCHandleType.Pinned);
        pinned.Add(handle);
        return (T*)handle.AddrOfPinnedObject();
    }

    /// <summary>The address of an array with the addresses of structs, for a member that points to one. Zero for
    /// null.</summary>
    internal IntPtr AddressesOf(IEnumerable<NativeStruct>? pointed)
    {
        if (pointed is null)
        {
            return IntPtr.Zero;
        }
        var addresses = new List<long>();
        foreach (NativeStruct each in pointed)
        {
            addresses.Add(NativeStruct.PointerOf(each).ToInt64());
        }
        return new IntPtr(Pin(addresses.ToArray()));
    }

    public void Dispose()
    {
        structs.ForEach(each => each.Dispose());
        pinned.ForEach(each => each.Free());
    }
}
