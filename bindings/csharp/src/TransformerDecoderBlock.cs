// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>A layer of a Transformer's decoder (Vaswani et al., "Attention Is All You Need", 2017, section 3.1).
/// Forward takes x (B, T, E) of Float32, Float16 or BFloat16, where E is the self-attention's NumHiddens; with cross
/// attention also the memory (B, S, size of the memory) of the same type, which is the encoder's output, and the
/// memory's valid lengths (B) or (B, T) of Float32, Int32 or Int64, which may be missing or null: with length n, a row
/// attends to the first n rows of the memory. It gives one array of the shape and type of x.</summary>
/// <remarks>With A the self-attention, C(x) the cross attention of x to the memory and F the feed-forward network:
/// <code>
/// NormFirst false   h = norm_1(x + dropout_1(A(x)))    g = norm_2(h + dropout_2(C(h)))
///                   output = norm_3(g + dropout_3(F(g)))
/// NormFirst true    h = x + dropout_1(A(norm_1(x)))    g = h + dropout_2(C(norm_2(h)))
///                   output = g + dropout_3(F(norm_3(g)))
/// </code>
/// Without cross attention, as in GPT, the second step, norm_3 and dropout_3 are left out, and F has norm_2 and
/// dropout_2. Its children are "self_attention", "cross_attention", "feed_forward", "norm_1", "norm_2", "norm_3",
/// "dropout_1", "dropout_2" and "dropout_3"; its parameters have their names before their own, as
/// "self_attention.W_q.weight". In <see cref="AttentionInputs"/> x is Queries, or packed (total, E), and the memory is
/// Keys; ValidLens, Mask and Bias are those of the cross attention, SelfValidLens, SelfMask and SelfBias those of the
/// self-attention. Its Cache is the self-attention's: calls append rows to sequences, and attend to them.</remarks>
public sealed class TransformerDecoderBlock : NativeBlock
{
    private readonly TransformerDecoderBlockOptions options;

    /// <summary>Makes a block without values for its parameters.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option of the block or of a child is missing, out of range, or cannot be
    /// combined with another.</exception>
    public TransformerDecoderBlock(TransformerDecoderBlockOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), null)
    {
    }

    /// <summary>Creates a root block, or a child when its path in a parent is given.</summary>
    internal TransformerDecoderBlock(TransformerDecoderBlockOptions options, ChildPath? path)
        : base(options.NewLayer, childPath: path)
    {
        this.options = options;
    }

    internal override string Kind => nameof(TransformerDecoderBlock);

    private protected override ListInputs ListInputs => ListInputs.Decoder;

    /// <summary>Projects the keys and values of the encoder's output and appends them to the inputs' cache, so that
    /// later calls read them there as their <see cref="AttentionInputs.MemoryCache"/>, and do not project them
    /// again.</summary>
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

    private protected override NativeBlock MakeChild(string name, ChildPath at) => name switch
    {
        "self_attention" => new MultiHeadAttention(options.SelfAttention!, at),
        "cross_attention" => new MultiHeadAttention(options.CrossAttention!, at),
        _ => options.MakeChild(name, at),
    };
}
