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
public sealed partial class AttentionInputs
{
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

    /// <summary>The seed of the dropout: the same seed drops the same elements. Null: each call in training takes the
    /// block's next seed, see <see cref="Block.SetSeed"/>.</summary>
    public long? DropoutSeed { get; set; }

    /// <summary>The inputs that are arrays, by their places; null: not set.</summary>
    internal NDArray?[] Arrays => arrays;

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
        NumLastRows = 0;
        return this;
    }

    /// <summary>The place of an input that is an array, by its name in C.</summary>
    internal static int PlaceOf(string member) =>
        (int)(Input)Enum.Parse(typeof(Input), member.Replace("_", string.Empty), ignoreCase: true);

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
