// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>Options common to encoders and decoders. A block copies its options when it is made.</summary>
/// <remarks>With an <see cref="Embedding"/> the block reads ids in place of rows. Before the first layer come those of
/// <code>
/// rows of the ids = embedding(ids) + token_type_embedding(token types)    with Embedding and NumTokenTypes
/// positions, embedding_norm, embedding_projection, embedding_dropout
/// </code>
/// that the options have, in this order. They are children with these names; embedding_projection, a
/// <see cref="Linear"/>, is there if the embedding has rows of another size, and comes before positions if these have
/// the size of the layers' rows (OPT); embedding_dropout is there if any of the others is, with the layers'
/// Dropout.</remarks>
public abstract class TransformerStackOptions
{
    private protected TransformerStackOptions()
    {
    }

    /// <summary>The members that both of C's structs have.</summary>
    internal interface IMembers
    {
        long NumLayers { set; }

        int FinalNorm { set; }

        IntPtr Embedding { set; }

        IntPtr Positions { set; }

        IntPtr Output { set; }

        long NumTokenTypes { set; }

        int EmbeddingNorm { set; }

        int ShareLayers { set; }

        int NoProjectionBias { set; }
    }

    /// <summary>How many layers there are, 1 to 4096. Must be set with Layer; with Layers 0, the default, means as many
    /// as there are options.</summary>
    public long NumLayers { get; set; }

    /// <summary>Whether a norm, with the options of the layers' norms, follows the last layer; false by default. It is
    /// never assumed: with NormFirst a stack usually has it, in PyTorch's nn.Transformer without NormFirst
    /// too.</summary>
    public bool FinalNorm { get; set; }

    /// <summary>The embedding of the ids, whose EmbeddingSize may be 0 for the size of the layers' rows; null, the
    /// default: the block reads rows.</summary>
    public EmbeddingOptions? Embedding { get; set; }

    /// <summary>The positional encoding of the rows, whose NumHiddens may be 0 for the size of the embedding's rows, or
    /// of the layers' without an embedding; null, the default: none. With a cache, positions continue those of its
    /// sequences.</summary>
    public PositionalEncodingOptions? Positions { get; set; }

    /// <summary>How many token types there are, whose rows are added to those of the ids; 0, the default: none. Only
    /// with an Embedding. <see cref="AttentionInputs.TokenTypes"/> has those of a call.</summary>
    public long NumTokenTypes { get; set; }

    /// <summary>Whether a norm, with the options of the layers' norms, is before the first layer; false by
    /// default.</summary>
    public bool EmbeddingNorm { get; set; }

    /// <summary>Whether all layers are the same, with the parameters of "layers.0", as in ALBERT; false by
    /// default.</summary>
    public bool ShareLayers { get; set; }

    /// <summary>Whether embedding_projection has a bias; true by default, false in OPT.</summary>
    public bool ProjectionBias { get; set; } = true;

    /// <summary>The projection of the last layer's rows, for example to logits; null, the default: none. If it is tied
    /// to an embedding of another size, the child "output_projection" first projects the rows to that size, without
    /// bias (OPT).</summary>
    public OutputOptions? Output { get; set; }

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

    /// <summary>Replaces the options inside by copies.</summary>
    private protected void CopyCommon()
    {
        Embedding = Embedding?.Copy();
        Positions = Positions?.Copy();
        Output = Output?.Copy();
    }

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

    private protected void Fill(IMembers members, NativeStructs structs)
    {
        members.NumLayers = NumLayers;
        members.FinalNorm = FinalNorm ? 1 : 0;
        members.Embedding = NativeStruct.PointerOf(Embedding?.ToNative(structs));
        members.Positions = NativeStruct.PointerOf(Positions?.ToNative(structs));
        members.Output = NativeStruct.PointerOf(Output?.ToNative(structs));
        members.NumTokenTypes = NumTokenTypes;
        members.EmbeddingNorm = EmbeddingNorm ? 1 : 0;
        members.ShareLayers = ShareLayers ? 1 : 0;
        members.NoProjectionBias = ProjectionBias ? 0 : 1;
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
