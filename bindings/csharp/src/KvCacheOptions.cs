// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The sizes and the layout of a <see cref="KvCache"/>, which copies them. What a layout does not use must be
/// 0.</summary>
public sealed class KvCacheOptions
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

    /// <summary>How many layers keep their keys and values in the cache; 0, the default, means 1.</summary>
    public long NumLayers { get; set; }

    /// <summary>How many sequences the cache has, with the numbers from 0 to MaxSequences - 1; 0, the default, means
    /// 1.</summary>
    public long MaxSequences { get; set; }

    /// <summary>The number of heads of keys and values in the layers, 1 or more: their
    /// <see cref="MultiHeadAttentionOptions.NumKvHeads"/>, or NumHeads if that is 0. Must be set.</summary>
    public long NumKvHeads { get; set; }

    /// <summary>The size of a head's keys, 1 to 4096. Must be set.</summary>
    public long HeadSize { get; set; }

    /// <summary>The size of a head's values, at most 4096; 0, the default, means HeadSize.</summary>
    public long ValueHeadSize { get; set; }

    /// <summary>The largest number of rows of a sequence, 1 to 2147483647. In a ring, the number of rows that a query
    /// attends to besides the sinks, itself included. Must be set.</summary>
    public long Capacity { get; set; }

    /// <summary>For a ring: how many of the first rows are never dropped; 0 by default (Xiao et al., "Efficient
    /// Streaming Language Models with Attention Sinks", 2023).</summary>
    public long NumSinks { get; set; }

    /// <summary>For pages: how many rows a page has, a multiple of 16; 0, the default, means 64 on the CPU and 128 on
    /// Ascend.</summary>
    public long PageSize { get; set; }

    /// <summary>For pages: how many pages all sequences share, 1 or more. Must be set for pages.</summary>
    public long NumPages { get; set; }

    /// <summary>Where rows are kept; contiguous by default.</summary>
    public CacheLayout Layout { get; set; }

    /// <summary>The type in which keys and values are kept, which need not be that of the inputs: Float32, the default,
    /// Float16, BFloat16, or Int8. Int8 has a Float32 scale for each key and each value of a head: its largest
    /// magnitude / 127.</summary>
    public DataType DataType { get; set; }

    /// <summary>Whether keys are kept as they are before rotary positions, and rotated whenever they are read, which
    /// takes time. <see cref="KvCache.Discard"/> can then renumber rows without rounding, also for Int8. False by
    /// default; not for a ring.</summary>
    public bool UnrotatedKeys { get; set; }

    internal KvCacheOptions Copy() => (KvCacheOptions)MemberwiseClone();

    /// <summary>Checks the options, and returns the number of bytes of such a cache.</summary>
    internal long NumBytes()
    {
        using NativeCacheOptions members = Filled();
        return NativeCache.Size(members);
    }

    internal NativeCache NewCache(NativeContext context)
    {
        using NativeCacheOptions members = Filled();
        return NativeCache.Create(context, members);
    }

    private NativeCacheOptions Filled()
    {
        var members = new NativeCacheOptions();
        members.NumLayers = NumLayers;
        members.MaxSequences = MaxSequences;
        members.NumKvHeads = NumKvHeads;
        members.HeadSize = HeadSize;
        members.ValueHeadSize = ValueHeadSize;
        members.Capacity = Capacity;
        members.NumSinks = NumSinks;
        members.PageSize = PageSize;
        members.NumPages = NumPages;
        members.Layout = (int)Layout;
        members.Dtype = (int)DataType;
        members.UnrotatedKeys = UnrotatedKeys ? 1 : 0;
        return members;
    }
}
