// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>An embedding: rows of a table, output[..., :] = weight[id[...], :] * Scale. Forward takes a list of one
/// array of ids, Int32 or Int64 of up to seven axes, each from 0 to below NumEmbeddings, and gives one array (...,
/// EmbeddingSize) of the parameter's type.</summary>
/// <remarks>Its parameter is "weight" (NumEmbeddings, EmbeddingSize), of the type that
/// <see cref="NativeBlock.Initialize(NDManager, DataType, Shape?[])"/> or the file says.</remarks>
public sealed class Embedding : NativeBlock
{
    private readonly EmbeddingOptions options;

    /// <summary>Makes a block without values for its parameter.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range.</exception>
    public Embedding(EmbeddingOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal Embedding(EmbeddingOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    internal override string Kind => nameof(Embedding);

    private protected override ListInputs ListInputs => ListInputs.Ids;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();
}
