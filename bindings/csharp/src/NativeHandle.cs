// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;

namespace Heed;

/// <summary>One native object. It is destroyed once: when it has been disposed and no call uses it any more, or when
/// nothing refers to it.</summary>
internal abstract class NativeHandle : SafeHandle
{
    /// <summary>The handle for null.</summary>
    internal static readonly NativeHandle Null = new NullHandle();

    private SharedMemory? kept;
    private Registry? registry;
    private Leaks.Origin? origin;
    private volatile bool isDisposed;

    private protected NativeHandle(IntPtr pointer, SharedMemory? kept)
        : base(IntPtr.Zero, ownsHandle: true)
    {
        Self = new WeakReference<NativeHandle>(this, trackResurrection: true);
        this.kept = kept != null && kept.TryAddReference() ? kept : null;
        SetHandle(pointer);
    }

    public sealed override bool IsInvalid => handle == IntPtr.Zero;

    /// <summary>Whether Dispose was called. SafeHandle itself stays open until the calls that use it have returned, and
    /// would allow new calls.</summary>
    internal bool IsDisposed => isDisposed || IsClosed;

    /// <summary>This handle, for a call.</summary>
    /// <exception cref="ObjectDisposedException">Dispose was called.</exception>
    internal NativeHandle Open => isDisposed ? throw new ObjectDisposedException(GetType().FullName) : this;

    /// <summary>The weak reference by which a registry refers to the object. It stays valid until the object is freed,
    /// also after the garbage collector has found it.</summary>
    internal WeakReference<NativeHandle> Self { get; }

    /// <summary>Whether the object keeps memory alive.</summary>
    internal bool HasKept => kept != null;

    /// <summary>How often the memory has been written.</summary>
    internal int Version => kept?.Version ?? 0;

    /// <summary>Counts a write to the memory.</summary>
    internal void CountWrite() => kept?.CountWrite();

    /// <summary>Keeps memory alive until the object is destroyed, and takes over the caller's reference to it. Only for
    /// a new object.</summary>
    internal void Keep(SharedMemory memory) => kept = memory;

    /// <summary>Returns a reference to the memory that the object keeps alive, which the caller must release. Null if
    /// it keeps none, or has been destroyed.</summary>
    internal SharedMemory? ShareKept() => kept != null && kept.TryAddReference() ? kept : null;

    /// <summary>Moves the object from its manager's registry to another one, which disposes it when it is disposed; to
    /// none if <paramref name="next"/> is null. Returns false, and changes nothing, if that registry is closed. Leak
    /// reports name the kind; null: there is no report, since the program cannot dispose the object.</summary>
    /// <exception cref="ObjectDisposedException">The object is disposed.</exception>
    internal bool Attach(Registry? next, string? kind)
    {
        bool isHeld = false;
        try
        {
            // Held, so that it is not destroyed before it is added to the registry, which it would then never leave.
            DangerousAddRef(ref isHeld);
            lock (this)
            {
                origin ??= kind is null ? null : Leaks.Here(kind);
                if (next == registry)
                {
                    return next == null || next.IsOpen;
                }
                if (next != null && !next.Add(this))
                {
                    return false;
                }
                registry?.Remove(this);
                registry = next;
                return true;
            }
        }
        finally
        {
            if (isHeld)
            {
                DangerousRelease();
            }
        }
    }

    protected abstract void Destroy();

    protected sealed override void Dispose(bool disposing)
    {
        if (!disposing && !IsClosed)
        {
            origin?.Report();
        }
        isDisposed = true;
        base.Dispose(disposing);
    }

    protected sealed override bool ReleaseHandle()
    {
        registry?.Remove(this);
        Destroy();
        SharedMemory.Release(kept);
        return true;
    }

    private sealed class NullHandle : NativeHandle
    {
        internal NullHandle()
            : base(IntPtr.Zero, null)
        {
        }

        protected override void Destroy()
        {
        }
    }
}
