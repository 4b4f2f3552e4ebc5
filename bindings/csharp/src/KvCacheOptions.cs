// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class KvCacheOptions
{
    /// <summary>Makes options, of which those that must be set are not set.</summary>
    public KvCacheOptions()
    {
    }

    /// <summary>Makes options of a cache for a block: NumLayers, NumKvHeads, HeadSize and ValueHeadSize are those of
    /// the block, and LayerCapacities those of a decoder or Transformer whose attentions have windows. Capacity must
    /// still be set.</summary>
    /// <param name="block">A <see cref="MultiHeadAttention"/>, <see cref="TransformerDecoderBlock"/>,
    /// <see cref="TransformerDecoder"/>, <see cref="Transformer"/> or <see cref="ModelBlock"/>. It need not be
    /// initialized, and is not kept.</param>
    /// <exception cref="System.NotSupportedException">The block uses no cache, or its attentions have different
    /// sizes.</exception>
    /// <exception cref="System.ObjectDisposedException">The block is disposed.</exception>
    public KvCacheOptions(NativeBlock block)
    {
        _ = block ?? throw new System.ArgumentNullException(nameof(block));
        using var members = new NativeCacheOptions();
        LayerCapacities = block.SetSizes(members);
        NumLayers = members.NumLayers;
        NumKvHeads = members.NumKvHeads;
        HeadSize = members.HeadSize;
        ValueHeadSize = members.ValueHeadSize;
    }

    /// <summary>How many rows of a sequence each layer sees, a row itself included: the WindowLeft + 1 of a causal
    /// attention with a window, and 0 for one that sees all rows. Such a layer keeps no more than those, the rows of a
    /// call, and up to 79 more, where that is less than Capacity; an attention that sees more is refused. null, the
    /// default: all layers see all rows. Rings, caches with UnrotatedKeys and those in an Ascend device's memory do not
    /// use it.</summary>
    public long[]? LayerCapacities { get; set; }

    /// <summary>Checks the options, and returns the number of bytes of such a cache.</summary>
    internal long NumBytes()
    {
        using var structs = new NativeStructs();
        return NativeCache.Size(ToNative(structs));
    }

    internal NativeCache NewCache(NativeContext context)
    {
        using var structs = new NativeStructs();
        return NativeCache.Create(context, ToNative(structs));
    }

    private void CopyMore()
    {
        LayerCapacities = (long[]?)LayerCapacities?.Clone();
    }

    private unsafe void FillByHand(NativeCacheOptions members, NativeStructs structs)
    {
        long layers = Math.Max(NumLayers, 1);
        if (LayerCapacities != null && LayerCapacities.Length != layers)
        {
            throw new ArgumentException(
                $"LayerCapacities has {LayerCapacities.Length} numbers, expected {layers}, NumLayers",
                nameof(LayerCapacities));
        }
        members.LayerCapacities = structs.Pin(LayerCapacities);
    }
}
