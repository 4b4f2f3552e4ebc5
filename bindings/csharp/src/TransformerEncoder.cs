// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A Transformer's encoder: a stack of layers, each of which reads the output of the one
/// before, and, as an option, a norm after the last (Vaswani et al., "Attention Is All You Need", 2017, section 3.1).
/// Forward takes and gives the lists of <see cref="TransformerEncoderBlock"/>; <see cref="AttentionInputs"/> are those
/// of each of the layers. With an <see cref="TransformerStackOptions.Embedding"/> Forward takes ids (B, S) of Int32 or
/// Int64, the valid lengths (B) or (B, S) and the token types (B, S) of Int32 or Int64, of which the last two may be
/// missing or null, and gives one array (B, S, E) of the type of the embedding's table, with an
/// <see cref="TransformerStackOptions.Output"/> (B, S, Size). With <see cref="TransformerEncoderOptions.Patches"/> x are
/// images (B, C, H, W), with <see cref="TransformerEncoderOptions.Audio"/> features (B, NumMels, T).</summary>
/// <remarks>Its children are "patches" or "audio" and those of <see cref="TransformerStackOptions"/>, then "layers.0",
/// "layers.1" and so on, "norm" if there is a final norm, and "output" if there is one; its parameters have their names
/// before their own, as "layers.0.self_attention.W_q.weight". A call needs the memory of one layer and of two arrays of
/// the shape of x.</remarks>
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

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal TransformerEncoder(TransformerEncoderOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    internal override string Kind => nameof(TransformerEncoder);

    private protected override ListInputs ListInputs =>
        options.ReadsIds ? ListInputs.EncoderOfIds : ListInputs.Encoder;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();

    private protected override NativeBlock MakeChild(string name, ChildPath at) => options.MakeChild(name, at);
}
