// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <content>What is not generated from heed.h.</content>
public abstract partial class TransformerStackOptions
{
    /// <summary>Whether the block reads ids.</summary>
    internal bool ReadsIds => Embedding != null;

    /// <summary>The options that all kinds of layers have.</summary>
    private protected abstract TransformerBlockOptions? LayerOptions { get; }

    /// <summary>The size of the layers' rows.</summary>
    private protected abstract long Size { get; }

    /// <summary>The size of the embedding's rows, or of the layers' without an embedding.</summary>
    private long EmbeddingSize => Embedding is { EmbeddingSize: not 0 } ? Embedding.EmbeddingSize : Size;

    /// <summary>Whether the block reads images or features in place of rows.</summary>
    private protected virtual bool ReadsSignals => false;

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

    /// <summary>Makes all children, in the order of C's.</summary>
    /// <param name="at">The place of a child.</param>
    /// <param name="same">The place of a child that is the same layer as an earlier one.</param>
    /// <param name="makeLayer">Makes the layer of an index.</param>
    internal IEnumerable<NativeBlock> MakeChildren(
        Func<string, NativeBlock.ChildPlace> at, Func<string, string, NativeBlock.ChildPlace> same,
        Func<long, NativeBlock.ChildPlace, NativeBlock> makeLayer)
    {
        foreach (NativeBlock child in MakeFirstChildren(at))
        {
            yield return child;
        }
        for (long index = 0; index < NumLayers; index++)
        {
            string name = $"layers.{index}";
            yield return makeLayer(index, ShareLayers ? same(name, "layers.0") : at(name));
        }
        if (FinalNorm)
        {
            yield return new LayerNorm(LayerOptions!.NormOrDefaults, at("norm"));
        }
        if (Output is { Tied: true } && EmbeddingSize != Size)
        {
            yield return new Linear(EmbeddingSize, false, at("output_projection"));
        }
        if (Output != null)
        {
            yield return Output.MakeChild(Embedding, at("output"));
        }
    }

    /// <summary>Makes the children before the first layer.</summary>
    private IEnumerable<NativeBlock> MakeFirstChildren(Func<string, NativeBlock.ChildPlace> at)
    {
        long embeddingSize = EmbeddingSize;
        bool projects = embeddingSize != Size;
        bool projectsFirst = projects && Positions?.NumHiddens == Size;
        if (Embedding != null)
        {
            EmbeddingOptions options = Embedding.Copy();
            options.EmbeddingSize = embeddingSize;
            yield return new Embedding(options, at("embedding"));
        }
        foreach (NativeBlock child in MakeSignalChildren(at))
        {
            yield return child;
        }
        if (NumTokenTypes != 0)
        {
            var options = new EmbeddingOptions { NumEmbeddings = NumTokenTypes, EmbeddingSize = embeddingSize };
            yield return new Embedding(options, at("token_type_embedding"));
        }
        if (projectsFirst)
        {
            yield return new Linear(Size, ProjectionBias, at("embedding_projection"));
        }
        if (Positions != null)
        {
            PositionalEncodingOptions options = Positions.Copy();
            options.NumHiddens = projectsFirst ? Size : embeddingSize;
            yield return new PositionalEncoding(options, at("positions"));
        }
        if (EmbeddingNorm)
        {
            yield return new LayerNorm(LayerOptions!.NormOrDefaults, at("embedding_norm"));
        }
        if (projects && !projectsFirst)
        {
            yield return new Linear(Size, ProjectionBias, at("embedding_projection"));
        }
        if (Embedding != null || ReadsSignals || Positions != null || EmbeddingNorm)
        {
            yield return new Dropout(LayerOptions!.Dropout, at("embedding_dropout"));
        }
    }

    /// <summary>Makes the children that read images or features.</summary>
    private protected virtual IEnumerable<NativeBlock> MakeSignalChildren(Func<string, NativeBlock.ChildPlace> at) =>
        Array.Empty<NativeBlock>();
}
