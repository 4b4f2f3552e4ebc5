// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;

namespace Heed;

/// <summary>One native object, destroyed once: when it has been disposed and no call uses it any more, or when
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

    /// <summary>Whether Dispose was called. SafeHandle itself is open until the calls that use it have returned, and
    /// would let others begin.</summary>
    internal bool IsDisposed => isDisposed || IsClosed;

    /// <summary>This, for a call.</summary>
    /// <exception cref="ObjectDisposedException">Dispose was called.</exception>
    internal NativeHandle Open => isDisposed ? throw new ObjectDisposedException(GetType().FullName) : this;

    /// <summary>What a registry refers to the object by, also while the collector has found the object and not freed it
    /// yet.</summary>
    internal WeakReference<NativeHandle> Self { get; }

    /// <summary>Whether the object keeps memory.</summary>
    internal bool HasKept => kept != null;

    /// <summary>Keeps memory until the object is destroyed, and takes over the caller's reference to it. For a new
    /// object.</summary>
    internal void Keep(SharedMemory memory) => kept = memory;

    /// <summary>A reference to what the object keeps, for the caller to release. Null where there is none, or where
    /// the object has been destroyed.</summary>
    internal SharedMemory? ShareKept() => kept != null && kept.TryAddReference() ? kept : null;

    /// <summary>Hands the object to a manager's registry, which disposes it with itself, and takes it from the one
    /// that had it. Null: to nobody. False, and no change, if that registry is closed.</summary>
    /// <exception cref="ObjectDisposedException">The object is disposed.</exception>
    internal bool Attach(Registry? next, string kind)
    {
        bool isHeld = false;
        try
        {
            // Held, so that it is not destroyed before it is in the registry, which it would then never leave.
            DangerousAddRef(ref isHeld);
            lock (this)
            {
                origin ??= Leaks.Here(kind);
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
