// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The members of one of C's structs that point to tensors. A tensor is held from <see cref="Set"/> to
/// <see cref="Release"/>, so that it stays alive if another thread disposes it during the call. The pointers of the
/// previous call stay in the struct: every member must be set again for the next call, to null if there is no
/// tensor.</summary>
/// <typeparam name="TStruct">The proxy of the struct.</typeparam>
internal sealed unsafe class TensorMembers<TStruct>
    where TStruct : NativeStruct
{
    private readonly TensorMember<TStruct>[] members;

    /// <summary>The addresses of the members: writing to them takes a fraction of the generated setter's
    /// time.</summary>
    private readonly long*[] addresses;

    /// <summary>The tensors that are held, by the index of the member.</summary>
    private readonly NativeHandle?[] held;

    internal TensorMembers(TStruct native, TensorMember<TStruct>[] members)
    {
        Struct = native;
        this.members = members;
        addresses = new long*[members.Length];
        held = new NativeHandle?[members.Length];
        for (int index = 0; index < members.Length; index++)
        {
            TensorMember<TStruct> member = members[index];
            addresses[index] = native.AddressOf(pointer => member.Set(native, new IntPtr(pointer)));
        }
    }

    internal TStruct Struct { get; }

    internal int Count => held.Length;

    /// <summary>Points each member to an array, or to null.</summary>
    /// <exception cref="ObjectDisposedException">An array is disposed.</exception>
    internal void SetAll(NDArray?[] arrays)
    {
        for (int index = 0; index < arrays.Length; index++)
        {
            Set(index, NDArray.TensorOf(arrays[index], members[index].Name));
        }
    }

    /// <summary>Points a member to a tensor, or to null.</summary>
    /// <exception cref="ObjectDisposedException">The tensor is disposed.</exception>
    internal void Set(int index, NativeTensor? tensor)
    {
        NativeHandle? handle = null;
        IntPtr pointer = IntPtr.Zero;
        if (tensor != null)
        {
            try
            {
                bool isHeld = false;
                handle = tensor.SafeHandle.Open;
                handle.DangerousAddRef(ref isHeld);
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

    /// <summary>Releases all tensors.</summary>
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
