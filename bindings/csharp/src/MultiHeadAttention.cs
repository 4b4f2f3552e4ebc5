// SPDX-License-Identifier: Apache-2.0
using System;
using System.Threading;

namespace Heed;

/// <summary>Multi-head attention (Vaswani et al., "Attention Is All You Need", 2017), with d2l-java's constructor and
/// calls. Forward takes queries (B, Q, Eq), keys (B, K, Ek) and values (B, K, Ev), all Float32, Float16 or BFloat16,
/// and the valid lengths (B) or (B, Q) of Float32, Int32 or Int64, which may be missing or null: with length n, a query
/// attends to the first n keys. It gives one array (B, Q, numHiddens).</summary>
/// <remarks>Unless options say otherwise, its parameters W_q, W_k and W_v have the shape
/// (numHiddens, size of the input), W_o has (numHiddens, numHiddens), and scores are divided by the square root of the
/// head size (the class in d2l-java's utils/attention divides by the square root of 2).
/// <see cref="NativeBlock.Initialize(NDManager, DataType, Shape?[])"/> or <see cref="NativeBlock.Load(string, string?, CancellationToken)"/> sets the parameters. With
/// d2l-java's constructor, each Forward keeps the attention weights in <see cref="Attention"/>, as d2l does;
/// <see cref="KeepAttentionWeights"/> turns it off. With a <see cref="KvCache"/>, calls append rows to sequences and
/// attend to them.</remarks>
public sealed class MultiHeadAttention : NativeBlock
{
    private readonly KeptWeights kept;
    private readonly MultiHeadAttentionOptions options;

    /// <summary>Makes a block without values for its parameters, which keeps the attention weights of the last Forward,
    /// as d2l's does.</summary>
    /// <param name="numHiddens">The size of the output, a multiple of numHeads.</param>
    /// <param name="numHeads">The number of heads H.</param>
    /// <param name="dropout">The probability, from 0 to below 1, that an attention weight is dropped when
    /// training.</param>
    /// <param name="useBias">Whether the four projections add a bias.</param>
    /// <exception cref="ArgumentException">An argument is out of range, or numHiddens is not a multiple of
    /// numHeads.</exception>
    public MultiHeadAttention(long numHiddens, long numHeads, float dropout = 0, bool useBias = false)
        : this(
            new MultiHeadAttentionOptions
            {
                NumHiddens = numHiddens,
                NumHeads = numHeads,
                Dropout = dropout,
                Biases = useBias ? Bias.All : Bias.None,
            },
            new KeptWeights(true))
    {
    }

    /// <summary>Makes a block without values for its parameters, which does not keep the attention weights.</summary>
    /// <param name="options">The options, which are copied.</param>
    /// <exception cref="ArgumentException">An option is out of range, or cannot be combined with another.</exception>
    public MultiHeadAttention(MultiHeadAttentionOptions options)
        : this((options ?? throw new ArgumentNullException(nameof(options))).Copy(), new KeptWeights(false))
    {
    }

    /// <summary>Makes a child of another block.</summary>
    internal MultiHeadAttention(MultiHeadAttentionOptions options, ChildPath path)
        : this(options, new KeptWeights(false), path)
    {
    }

    private MultiHeadAttention(MultiHeadAttentionOptions options, KeptWeights kept, ChildPath? path = null)
        : base(options.NewLayer, kept, path)
    {
        this.kept = kept;
        this.options = options;
        Attention = new DotProductAttention(options, kept);
    }

    /// <summary>The dot-product attention of this block. It has the attention weights (B * H, Q, K) of the last
    /// Forward, with the heads of a batch element next to each other. Called by itself, it computes attention with
    /// those of the same options that it has, without projections. It is disposed with this block.</summary>
    public DotProductAttention Attention { get; }

    /// <summary>Whether each Forward that takes an NDList computes and keeps the attention weights, which have
    /// B * H * Q * K elements. This does not change the output. Setting it to false disposes those of the last
    /// Forward.</summary>
    public bool KeepAttentionWeights
    {
        get => kept.On;
        set => kept.On = value;
    }

    internal override string Kind => nameof(MultiHeadAttention);

    /// <summary>Projects keys and values and appends them to the inputs' cache, without attending to them: the memory
    /// of cross attention, to which later calls with <see cref="CacheUse.Read"/> attend.</summary>
    /// <param name="inputs">The inputs, with a <see cref="AttentionInputs.Cache"/> and <see cref="CacheUse.Append"/>.
    /// The rows are those of keys (B, K, Ek) and values (B, K, Ev), without keys those of the queries; with keys,
    /// queries may be null. QueryLens (B) says how many rows of each element are appended, QueryOffsets where the rows
    /// of each begin in a packed batch.</param>
    /// <param name="workspace">Memory that no other call uses at the same time; null: heed keeps its own. Its size is
    /// that of <see cref="NativeBlock.WorkspaceSize"/> for these inputs, without queries for outputs that are not set,
    /// with queries for all outputs.</param>
    /// <param name="stop">Stops the call; the cache is as it was.</param>
    /// <exception cref="ArgumentException">Sizes, types or lengths do not fit, or the cache is missing, of another
    /// device, of other sizes, or has rows with other rotary positions.</exception>
    /// <exception cref="CacheFullException">The cache has no room for the rows; it is as it was.</exception>
    /// <exception cref="InvalidOperationException">The block is not initialized, or the workspace or the cache is in
    /// use.</exception>
    /// <exception cref="NotSupportedException">The block has additive scores, or the inputs are for
    /// training.</exception>
    /// <exception cref="HeedException">With <see cref="Status.WorkspaceTooSmall"/>: the workspace is too small; the
    /// sentence names both sizes.</exception>
    /// <exception cref="ObjectDisposedException">An array, the workspace, the cache or the block is
    /// disposed.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public void FillCache(AttentionInputs inputs, Workspace? workspace = null, CancellationToken stop = default) =>
        AppendToCache(inputs, workspace, stop);

    /// <inheritdoc/>
    public override void Dispose()
    {
        base.Dispose();
        Attention.Dispose();
    }

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() => options.Describe();

    /// <summary>Returns a view (B * H, Q, K) of weights (B, H, Q, K).</summary>
    private protected override unsafe NativeTensor ToKeep(NativeTensor weights)
    {
        long* dims = stackalloc long[] { weights.Dim(0) * weights.Dim(1), weights.Dim(2), weights.Dim(3) };
        NativeTensor view = weights.Reshape(3, dims);
        weights.Dispose();
        return view;
    }
}
