// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Threading;

namespace Heed;

/// <summary>What a manager disposes when it is disposed. It refers weakly to the objects' handles and to the
/// registries of sub-managers, so that the collector can find what the program has forgotten; each of them refers to
/// the registry that it is in. A handle that the collector frees removes its own entry.</summary>
internal sealed class Registry
{
    private const int FewChildren = 16;

    private readonly object gate = new object();
    private readonly Registry? parent;
    private readonly WeakReference<Registry> self;
    private HashSet<WeakReference<NativeHandle>>? handles = new();

    /// <summary>Those of the sub-managers.</summary>
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

    /// <summary>One that is closed with this one. Null if this one is closed.</summary>
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
                ForgetTheForgotten();
            }
            children.Add(child.self);
            return child;
        }
    }

    /// <summary>False if the registry is closed.</summary>
    internal bool Add(NativeHandle handle)
    {
        lock (gate)
        {
            return handles != null && handles.Add(handle.Self);
        }
    }

    internal void Remove(NativeHandle handle)
    {
        // What is to be freed is freed on an interrupted thread, too.
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
        parent?.Remove(this);
    }

    /// <summary>Closes this registry alone: gives the handles to dispose, and adds the children to those that wait
    /// to be closed.</summary>
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

    /// <summary>Drops the entries of children that the collector has found. It is done when their number has doubled,
    /// so that each child pays for a few looks.</summary>
    private void ForgetTheForgotten()
    {
        children.RemoveWhere(child => !child.TryGetTarget(out _));
        manyChildren = Math.Max(FewChildren, 2 * children.Count);
    }
}
