// SPDX-License-Identifier: Apache-2.0
using System;
using System.Runtime.InteropServices;

namespace Heed;

/// <summary>One native object, destroyed once: when it has been disposed and no call uses it any more, or when
/// nothing refers to it.</summary>
internal abstract class NativeHandle : SafeHandle
{
    /// <summary>What stands for no object.</summary>
    internal static readonly NativeHandle Null = new NullHandle();

    private Registry? registry;

    private protected NativeHandle(IntPtr pointer)
        : base(IntPtr.Zero, ownsHandle: true)
    {
        SetHandle(pointer);
    }

    public sealed override bool IsInvalid => handle == IntPtr.Zero;

    /// <summary>Hands the object to a manager, which disposes it with itself. False if the manager is
    /// closed.</summary>
    internal bool Attach(Registry registry)
    {
        this.registry = registry;
        return registry.Add(this);
    }

    protected abstract void Destroy();

    protected sealed override bool ReleaseHandle()
    {
        registry?.Remove(this);
        Destroy();
        return true;
    }

    private sealed class NullHandle : NativeHandle
    {
        internal NullHandle()
            : base(IntPtr.Zero)
        {
        }

        protected override void Destroy()
        {
        }
    }
}
