// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Threading;

namespace Heed;

/// <summary>The state that a base manager shares with all managers made from it: one context for each device, and the
/// seeds.</summary>
internal sealed class Contexts
{
    /// <summary>The number of the object that was made last, from 0; -1: none. An object's first seed follows from
    /// its number.</summary>
    private static long made = -1;

    /// <summary>The registry of the base manager, which disposes the contexts. If null, the garbage collector
    /// does.</summary>
    private readonly Registry? registry;
    private readonly Dictionary<Device, DeviceContext> open = new();

    /// <summary>The contexts of arrays that no manager owns. These arrays keep the contexts alive; disposing a manager
    /// does not end them.</summary>
    private readonly WeakReference<Contexts> unowned = new(null!);
    private long nextSeed;

    internal Contexts(ContextOptions options, Registry? registry)
        : this(options, registry, Interlocked.Increment(ref made) << 32)
    {
    }

    private Contexts(ContextOptions options, Registry? registry, long seed)
    {
        Options = options.Copy();
        this.registry = registry;
        nextSeed = seed;
    }

    /// <summary>The options of all contexts.</summary>
    internal ContextOptions Options { get; }

    /// <summary>The contexts of numbers that become arrays. It is no object whose number others' seeds follow
    /// from.</summary>
    internal static Contexts OfNumbers() => new Contexts(new ContextOptions(), null, 0);

    /// <summary>The context of a device, which the first call opens.</summary>
    internal DeviceContext Of(Device device)
    {
        lock (open)
        {
            if (!open.TryGetValue(device, out DeviceContext? context))
            {
                context = new DeviceContext(this, device, Open(device));
                open.Add(device, context);
            }
            return context;
        }
    }

    /// <summary>The manager, on a device, of arrays that no manager disposes.</summary>
    internal NDManager Unowned(Device device)
    {
        lock (open)
        {
            if (!unowned.TryGetTarget(out Contexts? contexts) || contexts is null)
            {
                contexts = new Contexts(Options, null);
                unowned.SetTarget(contexts);
            }
            return new NDManager(contexts.Of(device));
        }
    }

    /// <summary>Returns the seed of the next random numbers.</summary>
    internal long NextSeed() => Interlocked.Increment(ref nextSeed) - 1;

    internal void SetSeed(long seed) => Interlocked.Exchange(ref nextSeed, seed);

    private NativeContext Open(Device device)
    {
        if (device.IsCpu && (registry is null || Options.IsDefault))
        {
            return Library.Context;
        }
        NativeContext native = Library.Open(device, Options);
        if (registry is not null && !native.SafeHandle.Attach(registry, "a device"))
        {
            native.Dispose();
            throw Errors.ClosedManager();
        }
        return native;
    }
}
