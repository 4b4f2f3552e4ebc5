// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>A Transformer's decoder: a stack of layers with equal options, each of which reads the output of the one
/// before, and all of which attend to the same memory; as an option, a norm follows the last (Vaswani et al.,
/// "Attention Is All You Need", 2017, section 3.1). Forward takes and gives the lists of
/// <see cref="TransformerDecoderBlock"/>; <see cref="AttentionInputs"/> are those of each of the layers.</summary>
/// <remarks>Its children are "layers.0", "layers.1" and so on, and "norm" if there is a final norm; its parameters have
/// their names before their own, as "layers.0.self_attention.W_q.weight". With a cache, layer n uses the cache's layer
/// CacheLayer + n. A call needs the memory of one layer and of two arrays of the shape of x.</remarks>
public sealed class TransformerDecoder : NativeBlock
{
    private readonly TransformerDecoderOptions options;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option of the block or of a layer is missing, out of range, or cannot be
    /// combined with another.</exception>
    public TransformerDecoder(TransformerDecoderOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    private TransformerDecoder(TransformerDecoderOptions options, ChildPlace? place)
        : base(options.NewLayer, place: place)
    {
        this.options = options;
    }

    internal override string Kind => nameof(TransformerDecoder);

    private protected override ListInputs ListInputs => ListInputs.Decoder;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"TransformerDecoder(numLayers={options.NumLayers}, finalNorm={options.FinalNorm}, "
        + $"layer={options.Layer!.Describe()})";

    private protected override IEnumerable<NativeBlock> MakeChildren()
    {
        for (long index = 0; index < options.NumLayers; index++)
        {
            yield return new TransformerDecoderBlock(options.Layer!, At($"layers.{index}"));
        }
        if (options.FinalNorm)
        {
            yield return new LayerNorm(options.Layer!.NormOrDefaults, At("norm"));
        }
    }
}
