// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>What a manager disposes when it is disposed. It refers weakly to the objects' handles, so that the
/// collector can find forgotten arrays; a handle that it finds removes its own entry.</summary>
internal sealed class Registry
{
    private readonly object gate = new object();
    private Dictionary<IntPtr, WeakReference<NativeHandle>>? handles = new();
    private HashSet<NDManager> children = new HashSet<NDManager>();

    internal bool IsOpen
    {
        get
        {
            lock (gate)
            {
                return handles != null;
            }
        }
    }

    /// <summary>False if the registry is closed.</summary>
    internal bool Add(NativeHandle handle)
    {
        lock (gate)
        {
            if (handles == null)
            {
                return false;
            }
            handles.Add(handle.DangerousGetHandle(), new WeakReference<NativeHandle>(handle));
            return true;
        }
    }

    /// <summary>Called before the native object is destroyed, so that no other has its address yet.</summary>
    internal void Remove(NativeHandle handle)
    {
        lock (gate)
        {
            handles?.Remove(handle.DangerousGetHandle());
        }
    }

    internal bool Add(NDManager child)
    {
        lock (gate)
        {
            return handles != null && children.Add(child);
        }
    }

    internal void Remove(NDManager child)
    {
        lock (gate)
        {
            children.Remove(child);
        }
    }

    internal void Close()
    {
        Dictionary<IntPtr, WeakReference<NativeHandle>>? takenHandles;
        HashSet<NDManager> takenChildren;
        lock (gate)
        {
            takenHandles = handles;
            handles = null;
            takenChildren = children;
            children = new HashSet<NDManager>();
        }
        if (takenHandles == null)
        {
            return;
        }
        foreach (NDManager child in takenChildren)
        {
            child.Dispose();
        }
        foreach (WeakReference<NativeHandle> reference in takenHandles.Values)
        {
            if (reference.TryGetTarget(out NativeHandle? handle))
            {
                handle.Dispose();
            }
        }
    }
}
