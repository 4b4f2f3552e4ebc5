// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Threading;

namespace Heed;

/// <summary>The objects that a manager disposes when it is disposed. It refers weakly to the objects' handles and to
/// the registries of sub-managers, so that the garbage collector can free unreachable ones; each of them refers to its
/// registry. A handle that the collector frees removes its own entry.</summary>
internal sealed class Registry
{
    private const int FewChildren = 16;

    private readonly object gate = new object();
    private readonly Registry? parent;
    private readonly WeakReference<Registry> self;
    private HashSet<WeakReference<NativeHandle>>? handles = new();

    /// <summary>The registries of the sub-managers.</summary>
    private HashSet<WeakReference<Registry>> children = new();
    private int manyChildren = FewChildren;

    private Registry(Registry? parent)
    {
        this.parent = parent;
        self = new WeakReference<Registry>(this, trackResurrection: true);
    }

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

    internal static Registry NewRoot() => new Registry(null);

    /// <summary>Makes a registry that is closed with this one. Null if this one is closed.</summary>
    internal Registry? NewChild()
    {
        var child = new Registry(this);
        lock (gate)
        {
            if (handles == null)
            {
                return null;
            }
            if (children.Count >= manyChildren)
            {
                RemoveFreedChildren();
            }
            children.Add(child.self);
            return child;
        }
    }

    /// <summary>Adds a handle. Returns false if the registry is closed.</summary>
    internal bool Add(NativeHandle handle)
    {
        lock (gate)
        {
            return handles != null && handles.Add(handle.Self);
        }
    }

    internal void Remove(NativeHandle handle)
    {
        // The entry must be removed on an interrupted thread, too.
        UseLock.EnterAnyway(gate);
        try
        {
            handles?.Remove(handle.Self);
        }
        finally
        {
            Monitor.Exit(gate);
        }
    }

    /// <summary>Closes this registry and all below it, in a loop: a recursion could overflow the stack.</summary>
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
        parent?.Remove(this);
    }

    /// <summary>Closes only this registry: returns the handles to dispose, and adds the children to the registries that
    /// are still to be closed.</summary>
    private IReadOnlyCollection<WeakReference<NativeHandle>> Take(Stack<Registry> waiting)
    {
        UseLock.EnterAnyway(gate);
        try
        {
            if (handles == null)
            {
                return Array.Empty<WeakReference<NativeHandle>>();
            }
            foreach (WeakReference<Registry> reference in children)
            {
                if (reference.TryGetTarget(out Registry? child))
                {
                    waiting.Push(child);
                }
            }
            children = new();
            IReadOnlyCollection<WeakReference<NativeHandle>> taken = handles;
            handles = null;
            return taken;
        }
        finally
        {
            Monitor.Exit(gate);
        }
    }

    private void Remove(Registry child)
    {
        UseLock.EnterAnyway(gate);
        try
        {
            children.Remove(child.self);
        }
        finally
        {
            Monitor.Exit(gate);
        }
    }

    /// <summary>Removes the entries of children that the collector has freed. This runs when their number has doubled,
    /// so that its cost for each child is constant.</summary>
    private void RemoveFreedChildren()
    {
        children.RemoveWhere(child => !child.TryGetTarget(out _));
        manyChildren = Math.Max(FewChildren, 2 * children.Count);
    }
}
