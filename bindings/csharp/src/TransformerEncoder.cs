// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>A Transformer's encoder: a stack of layers with equal options, each of which reads the output of the one
/// before, and, as an option, a norm after the last (Vaswani et al., "Attention Is All You Need", 2017, section 3.1).
/// Forward takes and gives the lists of <see cref="TransformerEncoderBlock"/>; <see cref="AttentionInputs"/> are those
/// of each of the layers.</summary>
/// <remarks>Its children are "layers.0", "layers.1" and so on, and "norm" if there is a final norm; its parameters have
/// their names before their own, as "layers.0.self_attention.W_q.weight". A call needs the memory of one layer and of
/// two arrays of the shape of x.</remarks>
public sealed class TransformerEncoder : NativeBlock
{
    private readonly TransformerEncoderOptions options;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option of the block or of a layer is missing, out of range, or cannot be
    /// combined with another.</exception>
    public TransformerEncoder(TransformerEncoderOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    private TransformerEncoder(TransformerEncoderOptions options, ChildPlace? place)
        : base(options.NewLayer, place: place)
    {
        this.options = options;
    }

    internal override string Kind => nameof(TransformerEncoder);

    private protected override ListInputs ListInputs => ListInputs.Encoder;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        $"TransformerEncoder(numLayers={options.NumLayers}, finalNorm={options.FinalNorm}, "
        + $"layer={options.Layer!.Describe()})";

    private protected override IEnumerable<NativeBlock> MakeChildren()
    {
        for (long index = 0; index < options.NumLayers; index++)
        {
            yield return new TransformerEncoderBlock(options.Layer!, At($"layers.{index}"));
        }
        if (options.FinalNorm)
        {
            yield return new LayerNorm(options.Layer!.NormOrDefaults, At("norm"));
        }
    }
}
