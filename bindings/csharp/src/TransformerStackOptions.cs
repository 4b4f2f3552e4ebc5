// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <content>Members that are written by hand; others are generated from heed.h.</content>
public abstract partial class TransformerStackOptions
{
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
}
