// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>A Transformer: an encoder, and a decoder that attends to its output (Vaswani et al., "Attention Is All You
/// Need", 2017, section 3). Forward takes what the decoder reads, what the encoder reads, and the valid lengths (B) of
/// the latter, of Float32, Int32 or Int64, which may be missing or null. With an embedding the first two are ids (B, T)
/// and (B, S) of Int32 or Int64, without one rows (B, T, E) and (B, S, E) of Float32, Float16 or BFloat16. It gives the
/// decoder's output, (B, T, E), with an <see cref="TransformerOptions.Output"/> (B, T, Size).</summary>
/// <remarks>In <see cref="AttentionInputs"/> Queries is what the decoder reads and Keys what the encoder reads.
/// ValidLens and a Mask (B, 1, 1, S) say which of the encoder's rows both see.
/// <code>
/// without Queries      the encoder alone runs, and the output is its output
/// with Memory          the decoder alone runs, with that output of the encoder; Keys is null
/// with MemoryCache     the decoder alone runs; FillCache has put that output's keys and values there
/// </code>
/// A <see cref="AttentionInputs.Cache"/> is that of the decoder's self-attention. Its children are "embedding",
/// "decoder_embedding", which is the same, "encoder", "decoder" and "output", those of them that the options have; its
/// parameters have their names before their own, as "encoder.layers.0.self_attention.W_q.weight".</remarks>
public sealed class Transformer : NativeBlock
{
    private readonly TransformerOptions options;
    private readonly ListInputs inputs;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option of the block, of a stack or of a layer is missing, out of range,
    /// or cannot be combined with another.</exception>
    public Transformer(TransformerOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    private Transformer(TransformerOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
        inputs = ListInputs.Transformer(
            options.Embedding != null || options.Decoder!.ReadsIds,
            options.Embedding != null || options.Encoder!.ReadsIds);
    }

    internal override string Kind => nameof(Transformer);

    private protected override ListInputs ListInputs => inputs;

    /// <summary>Runs the encoder, projects the keys and values of its output for the decoder and appends them to the
    /// inputs' cache, those of the decoder's layer n to the cache's layer CacheLayer + n, so that later calls read them
    /// there as their <see cref="AttentionInputs.MemoryCache"/>, and do not compute them again.</summary>
    /// <param name="inputs">The inputs: in Keys what the encoder reads, (B, S), or in Memory its output, and a
    /// <see cref="AttentionInputs.Cache"/> with <see cref="CacheUse.Append"/>. With ValidLens (B) the padding of each
    /// element is not appended. Queries is null.</param>
    /// <param name="workspace">Memory that no other call uses at the same time; null: heed keeps its own. Its size is
    /// that of <see cref="NativeBlock.WorkspaceSize"/> for these inputs and outputs that are not set.</param>
    /// <param name="stop">Stops the call; the cache is as it was.</param>
    /// <exception cref="ArgumentException">Sizes, types or lengths do not fit, or the cache is missing, of another
    /// device, of other sizes, or has rows with other rotary positions.</exception>
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

    private protected override NativeBlock MakeChild(string name, ChildPath at)
    {
        switch (name)
        {
            case "encoder":
                return new TransformerEncoder(options.Encoder!, at);
            case "decoder":
                return new TransformerDecoder(options.Decoder!, at);
            case "output":
                return options.Output!.MakeChild(options.Embedding, at);
            default:
                EmbeddingOptions embedding = options.Embedding!.Copy();
                embedding.EmbeddingSize = options.Decoder!.FirstLayer!.SelfAttention!.NumHiddens;
                return new Embedding(embedding, at);
        }
    }
}
