// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The inputs of a block for the Forward that allocates nothing. One object may be changed and used for many
/// calls, by one thread at a time.</summary>
/// <remarks>Letters in shapes: B batch, H query heads, Hkv key heads, Q queries, K keys, D head size, Dv head size of
/// values; Eq, Ek and Ev input sizes of queries, keys and values. Only dot-product attention reads rank 4, (B, H, Q,
/// D), (B, Hkv, K, D) and (B, Hkv, K, Dv), where Hkv divides H. Queries, keys and values have the same type: Float32,
/// Float16 or BFloat16. A packed batch has the rows of all batch elements one after another, without padding:
/// <see cref="QueryOffsets"/> says where each element begins. Queries are then (total, Eq), for dot-product attention
/// (total, D) or (H, total, D); likewise keys and values. The output is (total, size), LogSumExp (H, total), and there
/// are no weights. For PositionalEncoding the input is (total, numHiddens), and positions begin at 0 in each element.
/// Without dropout the results have the same bits as those of each element alone. With a <see cref="Cache"/> K is the
/// number of rows of the longest sequence of the batch after the call.</remarks>
public sealed class AttentionInputs
{
    /// <summary>The members of C's struct of inputs, first those of a list of inputs in its order.</summary>
    internal static readonly TensorMember<NativeLayerInputs>[] Members =
    {
        new(nameof(Queries), (inputs, tensor) => inputs.Queries = tensor),
        new(nameof(Keys), (inputs, tensor) => inputs.Keys = tensor),
        new(nameof(Values), (inputs, tensor) => inputs.Values = tensor),
        new(nameof(ValidLens), (inputs, tensor) => inputs.ValidLens = tensor),
        new(nameof(Mask), (inputs, tensor) => inputs.Mask = tensor),
        new(nameof(Bias), (inputs, tensor) => inputs.Bias = tensor),
        new(nameof(AlibiSlopes), (inputs, tensor) => inputs.AlibiSlopes = tensor),
        new(nameof(Sinks), (inputs, tensor) => inputs.Sinks = tensor),
        new(nameof(TokenTypes), (inputs, tensor) => inputs.TokenTypes = tensor),
    };

    /// <summary>The members of C's struct of sequences, which come after them.</summary>
    internal static readonly TensorMember<NativeSequenceInputs>[] SequenceMembers =
    {
        new(nameof(Positions), (sequences, tensor) => sequences.Positions = tensor),
        new(nameof(QueryLens), (sequences, tensor) => sequences.QueryLens = tensor),
        new(nameof(QueryOffsets), (sequences, tensor) => sequences.QueryOffsets = tensor),
        new(nameof(KeyOffsets), (sequences, tensor) => sequences.KeyOffsets = tensor),
    };

    /// <summary>The members of C's struct of decoders, which come last.</summary>
    internal static readonly TensorMember<NativeDecoderInputs>[] DecoderMembers =
    {
        new(nameof(SelfValidLens), (decoder, tensor) => decoder.SelfValidLens = tensor),
        new(nameof(SelfMask), (decoder, tensor) => decoder.SelfMask = tensor),
        new(nameof(SelfBias), (decoder, tensor) => decoder.SelfBias = tensor),
        new(nameof(Memory), (decoder, tensor) => decoder.Memory = tensor),
    };

    /// <summary>The arrays that the program has set, by <see cref="Input"/>; null: not set.</summary>
    private readonly NDArray?[] arrays =
        new NDArray?[Members.Length + SequenceMembers.Length + DecoderMembers.Length];
    private readonly SequenceNumbers sequences = new SequenceNumbers();
    private readonly SequenceNumbers memorySequences = new SequenceNumbers();

    /// <summary>Makes inputs.</summary>
    /// <param name="queries">See <see cref="Queries"/>.</param>
    /// <param name="keys">See <see cref="Keys"/>.</param>
    /// <param name="values">See <see cref="Values"/>.</param>
    /// <param name="validLens">See <see cref="ValidLens"/>.</param>
    public AttentionInputs(
        NDArray? queries = null, NDArray? keys = null, NDArray? values = null, NDArray? validLens = null)
    {
        Queries = queries;
        Keys = keys;
        Values = values;
        ValidLens = validLens;
    }

    /// <summary>The inputs that are arrays, in the order of <see cref="Members"/>, <see cref="SequenceMembers"/> and
    /// <see cref="DecoderMembers"/>.</summary>
    private enum Input
    {
        Queries,
        Keys,
        Values,
        ValidLens,
        Mask,
        Bias,
        AlibiSlopes,
        Sinks,
        TokenTypes,
        Positions,
        QueryLens,
        QueryOffsets,
        KeyOffsets,
        SelfValidLens,
        SelfMask,
        SelfBias,
        Memory,
    }

    /// <summary>The queries, (B, Q, Eq), packed (total, Eq); for PositionalEncoding the input, (B, S, numHiddens),
    /// packed (total, numHiddens); for encoders and decoders x, (B, S, E), packed (total, E), or with an embedding the
    /// ids, (B, S), packed (total); for a Transformer what the decoder reads, (B, T), or null to run the encoder alone;
    /// for Linear, Dropout, LayerNorm and FeedForward the input, of any shape; for Embedding the ids, for PatchEmbedding
    /// images, for AudioEmbedding features. Otherwise required.</summary>
    public NDArray? Queries
    {
        get => this[Input.Queries];
        set => this[Input.Queries] = value;
    }

    /// <summary>The keys, (B, K, Ek); with a <see cref="Cache"/> one for each query, (B, Q, Ek). Null: the queries are
    /// the keys. For decoders the memory, which is the encoder's output, (B, S, size of the memory); null without cross
    /// attention. For a Transformer what the encoder reads, ids (B, S) or rows (B, S, E); null with a
    /// <see cref="Memory"/> or <see cref="MemoryCache"/>.</summary>
    public NDArray? Keys
    {
        get => this[Input.Keys];
        set => this[Input.Keys] = value;
    }

    /// <summary>The values, one for each key, (B, K, Ev). Null: the keys are the values.</summary>
    public NDArray? Values
    {
        get => this[Input.Values];
        set => this[Input.Values] = value;
    }

    /// <summary>How many keys, from the first, each batch element (B) or each query (B, Q) attends to: Float32, Int32
    /// or Int64, whole numbers from 0 to K. Null: all. Not with a <see cref="Cache"/>. For decoders, as Mask and Bias,
    /// of cross attention.</summary>
    public NDArray? ValidLens
    {
        get => this[Input.ValidLens];
        set => this[Input.ValidLens] = value;
    }

    /// <summary>The mask: Boolean of (B, H, Q, K) or (Q, K), where an axis that is repeated has size 1; true: the query
    /// may attend to the key. With a <see cref="Cache"/> it may also have Q in place of K, and then concerns only the
    /// rows of this call. Null: all.</summary>
    /// <exception cref="ArgumentException">The mask is not Boolean. A mask of 0 and minus infinity, to be added, is a
    /// <see cref="Bias"/>.</exception>
    public NDArray? Mask
    {
        get => this[Input.Mask];
        set => this[Input.Mask] = CheckedMask(value, nameof(Mask), nameof(Bias));
    }

    /// <summary>The bias that is added to the scaled scores: Float32 or the inputs' type, of the same shapes as a mask;
    /// minus infinity hides a key. Null: nothing is added.</summary>
    public NDArray? Bias
    {
        get => this[Input.Bias];
        set => this[Input.Bias] = value;
    }

    /// <summary>The slopes of ALiBi, Float32 of (H), or (1) if there are no heads. They lower each scaled score by
    /// slope * |distance from query to key|, where the last query has the position of the last key unless
    /// <see cref="Positions"/> says another. <see cref="CreateAlibiSlopes"/> makes those of the paper. Null:
    /// none.</summary>
    public NDArray? AlibiSlopes
    {
        get => this[Input.AlibiSlopes];
        set => this[Input.AlibiSlopes] = value;
    }

    /// <summary>The sinks, Float32 of (H), or (1) if there are no heads: for each head one more score in the softmax,
    /// without a value. Null: none.</summary>
    public NDArray? Sinks
    {
        get => this[Input.Sinks];
        set => this[Input.Sinks] = value;
    }

    /// <summary>Which segment of the text each id belongs to (Devlin et al., "BERT", 2019): Int32 or Int64 of the shape
    /// of the ids, each from 0 to below NumTokenTypes. Null: all are 0. Null for blocks without token
    /// types.</summary>
    public NDArray? TokenTypes
    {
        get => this[Input.TokenTypes];
        set => this[Input.TokenTypes] = value;
    }

    /// <summary>Where each query stands among the keys, of which key j has the position j: Int32 or Int64 of (B, Q), in
    /// a packed batch (total), each from 0 to 2147483647. The causal mask and the window, whatever their alignment,
    /// ALiBi, relative bias and rotary positions use it; <see cref="PositionalEncoding"/> adds the row of that
    /// position. Null: K - Q + i for rotary positions and ALiBi, what the alignment says for causal mask and window,
    /// and the index of the row for PositionalEncoding. With a <see cref="Cache"/>: the positions of the rows that are
    /// appended, on which causal masks do not depend; null: they continue after the last row's.</summary>
    public NDArray? Positions
    {
        get => this[Input.Positions];
        set => this[Input.Positions] = value;
    }

    /// <summary>How many queries, from the first, each batch element has: Int32 or Int64 of (B), from 0 to Q. Later
    /// rows are padding: they are not computed, and their results are 0, LogSumExp minus infinity. In
    /// self-attention, padding rows are also hidden as keys. Null: all rows are queries.</summary>
    public NDArray? QueryLens
    {
        get => this[Input.QueryLens];
        set => this[Input.QueryLens] = value;
    }

    /// <summary>Where the rows of each batch element begin in packed queries: Int32 or Int64 of (B + 1), from 0 to the
    /// number of rows, never falling. Element b has the rows from offset b to below offset b + 1. Not together with
    /// QueryLens, ValidLens, Mask, Bias or weights. Null: not packed.</summary>
    public NDArray? QueryOffsets
    {
        get => this[Input.QueryOffsets];
        set => this[Input.QueryOffsets] = value;
    }

    /// <summary>Where the rows of each batch element begin in packed keys and values, as QueryOffsets, which must be
    /// set too. Null: not packed, or without keys those of the queries. Not with a <see cref="Cache"/>.</summary>
    public NDArray? KeyOffsets
    {
        get => this[Input.KeyOffsets];
        set => this[Input.KeyOffsets] = value;
    }

    /// <summary>The valid lengths of a decoder's self-attention, as <see cref="ValidLens"/>, with the rows of queries
    /// as keys. Null: all. Null for all other blocks.</summary>
    public NDArray? SelfValidLens
    {
        get => this[Input.SelfValidLens];
        set => this[Input.SelfValidLens] = value;
    }

    /// <summary>The mask of a decoder's self-attention, as <see cref="Mask"/>. Null: all. Null for all other
    /// blocks.</summary>
    /// <exception cref="ArgumentException">The mask is not Boolean. A mask of 0 and minus infinity, to be added, is a
    /// <see cref="SelfBias"/>.</exception>
    public NDArray? SelfMask
    {
        get => this[Input.SelfMask];
        set => this[Input.SelfMask] = CheckedMask(value, nameof(SelfMask), nameof(SelfBias));
    }

    /// <summary>The bias of a decoder's self-attention, as <see cref="Bias"/>. Null: nothing is added. Null for all
    /// other blocks.</summary>
    public NDArray? SelfBias
    {
        get => this[Input.SelfBias];
        set => this[Input.SelfBias] = value;
    }

    /// <summary>For a <see cref="Transformer"/> the encoder's output, (B, S, E), which an earlier call without Queries
    /// gave, so that the encoder does not run again: Keys is then null. Null for all other blocks; decoders have it in
    /// <see cref="Keys"/>.</summary>
    public NDArray? Memory
    {
        get => this[Input.Memory];
        set => this[Input.Memory] = value;
    }

    /// <summary>For decoders with cross attention and for a <see cref="Transformer"/> the cache that FillCache of the
    /// block has filled with the keys and values of the encoder's output: the cross attention reads them there, and the
    /// memory is not projected. Keys, ValidLens and Memory are then null. Null: no cache.</summary>
    public KvCache? MemoryCache { get; set; }

    /// <summary>The sequence of <see cref="MemoryCache"/> of each batch element; several elements may read the same
    /// one, as the beams of a search do. The numbers are copied. Null: batch element b reads sequence b.</summary>
    public long[]? MemorySequences
    {
        get => memorySequences.Values;
        set => memorySequences.Values = value;
    }

    /// <summary>Which of the layers of <see cref="MemoryCache"/> the block is, from 0, which is the default; of a stack
    /// that of its first layer.</summary>
    public long MemoryCacheLayer { get; set; }

    /// <summary>The cache that holds the keys and values, for <see cref="MultiHeadAttention"/> with
    /// <see cref="Scoring.DotProduct"/>, and for the self-attention of decoders and Transformers. The call appends its
    /// rows to sequences of the cache, as many as it has queries: row i of batch element b is appended to the sequence
    /// of b, and attends to all rows of the sequence that causal mask and window leave visible, those of this call
    /// included. QueryLens and QueryOffsets say how many rows each element has, which may be none. A row has the same
    /// bits alone, in any batch, and with any other number of rows in the same call. A call that fails leaves the cache
    /// as it was. <see cref="CacheUse"/> says whether the call only attends to the rows, without appending any. Null:
    /// no cache.</summary>
    public KvCache? Cache { get; set; }

    /// <summary>The sequence of the cache, 0 to MaxSequences - 1, of each batch element; with CacheUse.Append all are
    /// different. The numbers are copied. Null: batch element b is sequence b.</summary>
    public long[]? Sequences
    {
        get => sequences.Values;
        set => sequences.Values = value;
    }

    /// <summary>Which of the cache's layers the block is, from 0, which is the default; of a
    /// <see cref="TransformerDecoder"/> that of its first layer.</summary>
    public long CacheLayer { get; set; }

    /// <summary>What the call does with the cache: it appends rows and attends, by default, or only attends. Decoders
    /// always append.</summary>
    public CacheUse CacheUse { get; set; }

    /// <summary>Whether dropout is active; false by default. Not with a <see cref="Cache"/>.</summary>
    public bool Training { get; set; }

    /// <summary>The seed of the dropout: the same seed drops the same elements. Null: each call in training takes the
    /// block's next seed, see <see cref="Block.SetSeed"/>.</summary>
    public long? DropoutSeed { get; set; }

    private NDArray? this[Input input]
    {
        get => arrays[(int)input];
        set => arrays[(int)input] = value;
    }

    /// <summary>Makes the slopes of ALiBi for a number of heads (Press et al., 2022): for a power of two 2^(-8/H),
    /// 2^(-16/H), ..., 2^-8; otherwise those of the largest power of two n below H, then the first, third, fifth, ...
    /// of 2n.</summary>
    /// <param name="manager">The manager that the array belongs to.</param>
    /// <param name="numHeads">The number of heads H, at least 0.</param>
    /// <returns>Float32 of (numHeads).</returns>
    public static NDArray CreateAlibiSlopes(NDManager manager, int numHeads)
    {
        if (manager is null) throw new ArgumentNullException(nameof(manager));
        NDArray slopes = manager.Create(new Shape(numHeads));
        slopes.Tensor.FillAlibiSlopes();
        return slopes;
    }

    /// <summary>Resets all inputs, so that none is set.</summary>
    /// <returns>This object.</returns>
    public AttentionInputs Clear()
    {
        Array.Clear(arrays, 0, arrays.Length);
        Cache = null;
        Sequences = null;
        CacheLayer = 0;
        CacheUse = CacheUse.Append;
        Training = false;
        DropoutSeed = null;
        MemoryCache = null;
        MemorySequences = null;
        MemoryCacheLayer = 0;
        return this;
    }

    /// <summary>Sets all members of C's structs for a call.</summary>
    /// <exception cref="ArgumentException">An input for a cache is set, but there is none.</exception>
    /// <exception cref="ObjectDisposedException">An array or a cache is disposed.</exception>
    internal void Fill(TensorMembers members, CacheMembers cacheMembers, CacheMembers memoryCacheMembers)
    {
        members.SetAll(arrays);
        if (Cache is { } cache)
        {
            _ = cache.Native;
            cacheMembers.Set(cache, sequences.For(cache.Manager), CacheLayer, CacheUse);
        }
        else
        {
            Refuse(
                sequences.AreSet ? "Sequences is set"
                : CacheLayer != 0 ? $"CacheLayer is {CacheLayer}"
                : CacheUse != CacheUse.Append ? $"CacheUse is {CacheUse}"
                : null,
                nameof(Cache));
            cacheMembers.Clear();
        }
        if (MemoryCache is { } memory)
        {
            _ = memory.Native;
            memoryCacheMembers.Set(memory, memorySequences.For(memory.Manager), MemoryCacheLayer, CacheUse.Read);
        }
        else
        {
            Refuse(
                memorySequences.AreSet ? "MemorySequences is set"
                : MemoryCacheLayer != 0 ? $"MemoryCacheLayer is {MemoryCacheLayer}"
                : null,
                nameof(MemoryCache));
            memoryCacheMembers.Clear();
        }
    }

    /// <summary>Throws if there is no cache, but an input for it is set.</summary>
    private static void Refuse(string? wrong, string cache)
    {
        if (wrong != null)
        {
            throw new ArgumentException($"{wrong}, but {cache} is null: expected a cache", cache);
        }
    }

    private static NDArray? CheckedMask(NDArray? mask, string name, string bias) =>
        mask is null or { ElementType: DataType.Boolean }
            ? mask
            : throw new ArgumentException(
                $"{name} is of {mask.ElementType}, expected Boolean with true = may attend; {bias} takes numbers that "
                + "are added to the scores",
                name);
}
