// SPDX-License-Identifier: Apache-2.0
using System.Threading;

namespace Heed;

/// <summary>What a base manager and its sub-managers share.</summary>
internal sealed class DeviceContext
{
    /// <summary>How many were made: each has its own seeds.</summary>
    private static long contexts = -1;

    private long nextSeed = Interlocked.Increment(ref contexts) << 32;

    internal DeviceContext(Device device, ContextOptions options)
    {
        Device = device;
        Native = Library.Open(device, options);
        Unowned = new NDManager(this);
    }

    internal Device Device { get; }

    internal NativeContext Native { get; }

    /// <summary>The manager of arrays that no manager disposes.</summary>
    internal NDManager Unowned { get; }

    /// <summary>The seed of the next random numbers.</summary>
    internal long NextSeed() => Interlocked.Increment(ref nextSeed) - 1;

    internal void SetSeed(long seed) => Interlocked.Exchange(ref nextSeed, seed);
}
