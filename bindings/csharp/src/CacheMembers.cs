// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>What one call does with a cache, as C's struct, to which another struct points in calls with a cache.
/// The cache and the array of sequence numbers are held from <see cref="Set"/> to <see cref="Release"/>. Every call
/// must use either <see cref="Set"/> or <see cref="Clear"/>.</summary>
internal sealed unsafe class CacheMembers
{
    /// <summary>The indices of the members that are objects.</summary>
    private const int Cache = 0;
    private const int Sequences = 1;

    private static readonly TensorMember<NativeCacheInputs>[] Members =
    {
        new(nameof(Cache), (inputs, cache) => inputs.Cache = cache),
        new(nameof(Sequences), (inputs, tensor) => inputs.Sequences = tensor),
    };

    private readonly NativeCacheInputs native = new NativeCacheInputs();
    private readonly TensorMembers objects;
    private readonly long* layer;

    /// <summary>The member that points to this struct, or is null.</summary>
    private readonly long* pointer;

    /// <summary>The value of the member Use of the native struct.</summary>
    private CacheUse use;

    /// <summary>Makes the struct.</summary>
    /// <param name="pointer">The member of another struct that points to it in calls with a cache.</param>
    internal CacheMembers(long* pointer)
    {
        objects = new TensorMembers().Add(native, Members);
        layer = native.AddressOf(value => native.Layer = value);
        this.pointer = pointer;
    }

    /// <summary>Sets all members for a call with a cache.</summary>
    /// <param name="cache">The cache.</param>
    /// <param name="sequences">The array of sequence numbers; null: batch element b is sequence b.</param>
    /// <param name="number">Which of the cache's layers the block is.</param>
    /// <param name="wanted">What the call does with the cache.</param>
    /// <exception cref="ObjectDisposedException">The cache or the array is disposed.</exception>
    internal void Set(KvCache cache, NativeTensor? sequences, long number, CacheUse wanted)
    {
        objects.SetObject(Cache, cache.Native.SafeHandle);
        objects.Set(Sequences, sequences);
        *layer = number;
        if (use != wanted)
        {
            native.Use = (int)wanted;
            use = wanted;
        }
        *pointer = NativeStruct.PointerOf(native).ToInt64();
    }

    /// <summary>For a call without a cache.</summary>
    internal void Clear() => *pointer = 0;

    /// <summary>Releases the cache and the array.</summary>
    internal void Release() => objects.Release();
}
