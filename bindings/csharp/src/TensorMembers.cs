// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The members of C's structs that point to tensors, or to other objects, in the order in which they were
/// added. An object is held from <see cref="Set"/> to <see cref="Release"/>, so that it stays alive if another thread
/// disposes it during the call. The pointers of the previous call stay in the structs: every member must be set again
/// for the next call, to null if there is no object.</summary>
internal sealed unsafe class TensorMembers
{
    private string[] names = Array.Empty<string>();

    /// <summary>The addresses of the members: writing to them takes a fraction of the generated setter's
    /// time.</summary>
    private long*[] addresses = new long*[0];

    /// <summary>The objects that are held, by the index of the member.</summary>
    private NativeHandle?[] held = Array.Empty<NativeHandle?>();

    internal int Count => held.Length;

    /// <summary>Adds members of a struct.</summary>
    /// <typeparam name="TStruct">The proxy of the struct.</typeparam>
    internal TensorMembers Add<TStruct>(TStruct native, TensorMember<TStruct>[] members)
        where TStruct : NativeStruct
    {
        int index = held.Length;
        int count = index + members.Length;
        Array.Resize(ref names, count);
        Array.Resize(ref held, count);
        var longer = new long*[count];
        for (int i = 0; i < index; i++)
        {
            longer[i] = addresses[i];
        }
        addresses = longer;
        foreach (TensorMember<TStruct> member in members)
        {
            names[index] = member.Name;
            addresses[index++] = native.AddressOf(pointer => member.Set(native, new IntPtr(pointer)));
        }
        return this;
    }

    /// <summary>Points each member to an array, or to null.</summary>
    /// <exception cref="ObjectDisposedException">An array is disposed.</exception>
    internal void SetAll(NDArray?[] arrays)
    {
        for (int index = 0; index < arrays.Length; index++)
        {
            Set(index, NDArray.TensorOf(arrays[index], names[index]));
        }
    }

    /// <summary>Points a member to a tensor, or to null.</summary>
    /// <exception cref="ObjectDisposedException">The tensor is disposed.</exception>
    internal void Set(int index, NativeTensor? tensor) => SetObject(index, tensor?.SafeHandle);

    /// <summary>Points a member to an object of its type, or to null.</summary>
    /// <exception cref="ObjectDisposedException">The object is disposed.</exception>
    internal void SetObject(int index, NativeHandle? handle)
    {
        IntPtr pointer = IntPtr.Zero;
        if (handle != null)
        {
            try
            {
                bool isHeld = false;
                handle.Open.DangerousAddRef(ref isHeld);
            }
            catch (ObjectDisposedException error)
            {
                throw Errors.Closed(error);
            }
            pointer = handle.DangerousGetHandle();
        }
        LetGo(index);
        held[index] = handle;
        *addresses[index] = pointer.ToInt64();
    }

    /// <summary>Points all members to null, for a call that sets some of them.</summary>
    internal void Clear()
    {
        for (int index = 0; index < held.Length; index++)
        {
            Set(index, null);
        }
    }

    /// <summary>The tensor that a call has stored in a member.</summary>
    internal IntPtr Get(int index) => new IntPtr(*addresses[index]);

    /// <summary>Releases all objects.</summary>
    internal void Release()
    {
        for (int index = 0; index < held.Length; index++)
        {
            LetGo(index);
        }
    }

    private void LetGo(int index)
    {
        NativeHandle? handle = held[index];
        if (handle != null)
        {
            held[index] = null;
            handle.DangerousRelease();
        }
    }
}
