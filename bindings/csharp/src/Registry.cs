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

    /// <summary>Those of the sub-managers.</summary>
    private HashSet<Registry> children = new HashSet<Registry>();

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

    /// <summary>False if the registry is closed.</summary>
    internal bool Add(Registry child)
    {
        lock (gate)
        {
            return handles != null && children.Add(child);
        }
    }

    internal void Remove(Registry child)
    {
        lock (gate)
        {
            children.Remove(child);
        }
    }

    /// <summary>Closes all below it, one registry after the other: however deep they are nested, the stack is
    /// not.</summary>
    internal void Close()
    {
        var waiting = new Stack<Registry>();
        waiting.Push(this);
        while (waiting.Count > 0)
        {
            foreach (WeakReference<NativeHandle> reference in waiting.Pop().Take(waiting))
            {
                if (reference.TryGetTarget(out NativeHandle? handle))
                {
                    handle.Dispose();
                }
            }
        }
    }

    /// <summary>Closes this registry alone: gives the handles to dispose, and adds the children to those that wait
    /// to be closed.</summary>
    private IReadOnlyCollection<WeakReference<NativeHandle>> Take(Stack<Registry> waiting)
    {
        lock (gate)
        {
            if (handles == null)
            {
                return Array.Empty<WeakReference<NativeHandle>>();
            }
            foreach (Registry child in children)
            {
                waiting.Push(child);
            }
            children = new HashSet<Registry>();
            IReadOnlyCollection<WeakReference<NativeHandle>> taken = handles.Values;
            handles = null;
            return taken;
        }
    }
}
