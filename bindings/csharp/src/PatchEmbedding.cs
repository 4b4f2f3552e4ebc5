// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The embedding of an image's patches (Dosovitskiy et al., "An Image is Worth 16x16 Words", arXiv 2010.11929,
/// equation 1). The patches lie side by side without overlap; row y * (W / PatchWidth) + x of the output is that of the
/// patch y from above and x from the left, weight patch + bias, with the elements of the patch in the order (C,
/// PatchHeight, PatchWidth). With a class token the first row is that parameter. Forward takes a list of images (B, C, H,
/// W) of Float32, Float16 or BFloat16, with H a multiple of PatchHeight and W one of PatchWidth, and gives one array (B,
/// N, NumHiddens) of that type, N the number of patches and of the class token.</summary>
/// <remarks>Its parameters are "weight" (NumHiddens, C * PatchHeight * PatchWidth), as option "bias" (NumHiddens), and as
/// option "class_token" (NumHiddens).</remarks>
public sealed class PatchEmbedding : NativeBlock
{
    private readonly PatchEmbeddingOptions options;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">A size is missing or out of range.</exception>
    public PatchEmbedding(PatchEmbeddingOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal PatchEmbedding(PatchEmbeddingOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    internal override string Kind => nameof(PatchEmbedding);

    private protected override ListInputs ListInputs => ListInputs.Single;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();
}
