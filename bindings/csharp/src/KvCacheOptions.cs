// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public sealed partial class KvCacheOptions
{
    /// <summary>Makes options, of which those that must be set are not set.</summary>
    public KvCacheOptions()
    {
    }

    /// <summary>Makes options of a cache for a block: NumLayers, NumKvHeads, HeadSize and ValueHeadSize are those of
    /// the block. Capacity must still be set.</summary>
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
        block.SetSizes(members);
        NumLayers = members.NumLayers;
        NumKvHeads = members.NumKvHeads;
        HeadSize = members.HeadSize;
        ValueHeadSize = members.ValueHeadSize;
    }

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
}
