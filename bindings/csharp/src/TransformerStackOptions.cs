// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public abstract partial class TransformerStackOptions
{
    /// <summary>The options that all kinds of layers have.</summary>
    private protected abstract TransformerBlockOptions? LayerOptions { get; }

    /// <summary>The size of the layers' rows.</summary>
    private protected abstract long Size { get; }

    /// <summary>The size of the embedding's rows, or of the layers' without an embedding.</summary>
    private long EmbeddingSize => Embedding is { EmbeddingSize: not 0 } ? Embedding.EmbeddingSize : Size;

    /// <summary>Copies of the options of each layer.</summary>
    private protected static T[]? CopiesOf<T>(IReadOnlyList<T>? layers, Func<T, T> copy)
        where T : class =>
        layers?.Select(layer => copy(layer ?? throw new ArgumentException("Layers has null", "Layers"))).ToArray();

    /// <summary>The number of layers. C reads as many options of layers, so there must be no fewer.</summary>
    private protected long CheckedNumLayers(int? numOptions) =>
        numOptions is not { } given || NumLayers == given ? NumLayers
        : NumLayers == 0 ? given
        : throw new ArgumentException(
            $"NumLayers is {NumLayers}, but Layers has options for {given}: expected the same number, or none",
            "NumLayers");

    /// <summary>The members in a block's text, those that are set.</summary>
    private protected string DescribeCommon()
    {
        var members = new List<string> { $"numLayers={NumLayers}", $"finalNorm={FinalNorm}" };
        if (Embedding != null) members.Add($"embedding={Embedding.Describe()}");
        if (NumTokenTypes != 0) members.Add($"numTokenTypes={NumTokenTypes}");
        if (Positions != null) members.Add($"positions={Positions.Describe()}");
        if (EmbeddingNorm) members.Add($"embeddingNorm={EmbeddingNorm}");
        if (ShareLayers) members.Add($"shareLayers={ShareLayers}");
        if (!ProjectionBias) members.Add($"projectionBias={ProjectionBias}");
        if (Output != null) members.Add($"output={Output.Describe()}");
        return string.Join(", ", members);
    }

    /// <summary>Makes a child, by its name.</summary>
    internal virtual NativeBlock MakeChild(string name, NativeBlock.ChildPath at) => name switch
    {
        "embedding" => new Embedding(Embedding!.WithRows(EmbeddingSize), at),
        "token_type_embedding" =>
            new Embedding(new EmbeddingOptions { NumEmbeddings = NumTokenTypes, EmbeddingSize = EmbeddingSize }, at),
        "positions" => new PositionalEncoding(Positions!.WithRows(EmbeddingSize), at),
        "embedding_projection" => new Linear(Size, ProjectionBias, at),
        "output_projection" => new Linear(EmbeddingSize, false, at),
        "embedding_dropout" => new Dropout(LayerOptions!.Dropout, at),
        "output" => Output!.MakeChild(Embedding, at),
        _ => new LayerNorm(LayerOptions!.NormOrDefaults, at),
    };

    /// <summary>The index of a child that is a layer; null: it is none.</summary>
    private protected static int? IndexOfLayer(string name) =>
        name.StartsWith("layers.", StringComparison.Ordinal)
            ? int.Parse(name.Substring("layers.".Length), CultureInfo.InvariantCulture)
            : null;
}
