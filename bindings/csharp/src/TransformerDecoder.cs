// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>A Transformer's decoder: a stack of layers, each of which reads the output of the one
/// before, and all of which attend to the same memory; as an option, a norm follows the last (Vaswani et al.,
/// "Attention Is All You Need", 2017, section 3.1). Forward takes and gives the lists of
/// <see cref="TransformerDecoderBlock"/>; <see cref="AttentionInputs"/> are those of each of the layers. With an
/// <see cref="TransformerStackOptions.Embedding"/> Forward takes ids (B, T) of Int32 or Int64 and gives one array
/// (B, T, E) of the type of the embedding's table, with an <see cref="TransformerStackOptions.Output"/> (B, T, Size).
/// The list then has besides, each of which may be missing or null: without cross attention the valid lengths (B) or
/// (B, T) of the ids; with cross attention the memory, which must be there, and its valid lengths.</summary>
/// <remarks>Its children are those of <see cref="TransformerStackOptions"/>, then "layers.0", "layers.1" and so on,
/// "norm" if there is a final norm, and "output" if there is one; its parameters have their names before their own, as
/// "layers.0.self_attention.W_q.weight". With a cache, layer n uses the cache's layer CacheLayer + n. A call needs the
/// memory of one layer and of two arrays of the shape of x.</remarks>
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

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal TransformerDecoder(TransformerDecoderOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    internal override string Kind => nameof(TransformerDecoder);

    private protected override ListInputs ListInputs => !options.ReadsIds ? ListInputs.Decoder
        : options.FirstLayer!.CrossAttention is null ? ListInputs.DecoderOfIds : ListInputs.CrossDecoderOfIds;

    /// <summary>Projects the keys and values of the encoder's output and appends them to the inputs' cache, those of
    /// layer n to the cache's layer CacheLayer + n, so that later calls read them there as their
    /// <see cref="AttentionInputs.MemoryCache"/>, and do not project them again.</summary>
    /// <param name="inputs">The inputs: in Keys the encoder's output, (B, S, size of the memory), and a
    /// <see cref="AttentionInputs.Cache"/> with <see cref="CacheUse.Append"/>. QueryLens (B) says how many rows of each
    /// element are appended.</param>
    /// <param name="workspace">Memory that no other call uses at the same time; null: heed keeps its own. Its size is
    /// that of <see cref="NativeBlock.WorkspaceSize"/> for these inputs and outputs that are not set.</param>
    /// <param name="stop">Stops the call; the cache is as it was.</param>
    /// <exception cref="ArgumentException">Sizes, types or lengths do not fit, or the cache is missing, of another
    /// device, of other sizes, or has rows with other rotary positions, or the block has no
    /// cross attention.</exception>
    /// <exception cref="CacheFullException">The cache has no room for the rows; it is as it was.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized, or the workspace or the cache is in
    /// use.</exception>
    /// <exception cref="HeedException">With <see cref="Status.WorkspaceTooSmall"/>: the workspace is too small; the
    /// sentence names both sizes.</exception>
    /// <exception cref="ObjectDisposedException">An array, the workspace, the cache or the block is
    /// disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void FillCache(AttentionInputs inputs, Workspace? workspace = null, CancellationToken stop = default) =>
        AppendToCache(inputs, workspace, stop);

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();

    private protected override NativeBlock MakeChild(string name, ChildPath at) => options.MakeChild(name, at);
}
