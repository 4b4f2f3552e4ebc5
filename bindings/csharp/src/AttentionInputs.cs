// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>What a block reads in the form of Forward that allocates nothing. May be changed and used again; belongs
/// to one thread at a time.</summary>
/// <remarks>Letters in shapes: B batch, H heads, Q queries, K keys. Rank 4, (B, H, Q, D) and (B, H, K, D), is for
/// dot-product attention alone. Queries, keys and values have one type of Float32, Float16 and BFloat16.</remarks>
public sealed class AttentionInputs
{
    /// <summary>The members of C's struct, in the order of a list of inputs.</summary>
    internal static readonly TensorMember<NativeLayerInputs>[] Members =
    {
        new(nameof(Queries), (inputs, tensor) => inputs.Queries = tensor),
        new(nameof(Keys), (inputs, tensor) => inputs.Keys = tensor),
        new(nameof(Values), (inputs, tensor) => inputs.Values = tensor),
        new(nameof(ValidLens), (inputs, tensor) => inputs.ValidLens = tensor),
        new(nameof(Mask), (inputs, tensor) => inputs.Mask = tensor),
        new(nameof(Bias), (inputs, tensor) => inputs.Bias = tensor),
        new(nameof(AlibiSlopes), (inputs, tensor) => inputs.AlibiSlopes = tensor),
    };

    /// <summary>By <see cref="Input"/>.</summary>
    private readonly NDArray?[] arrays = new NDArray?[Members.Length];

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

    /// <summary>The inputs that are arrays, in the order of <see cref="Members"/>.</summary>
    private enum Input
    {
        Queries,
        Keys,
        Values,
        ValidLens,
        Mask,
        Bias,
        AlibiSlopes,
    }

    /// <summary>The queries, (B, Q, E); of Linear and Dropout the input, of any shape. Required.</summary>
    public NDArray? Queries
    {
        get => this[Input.Queries];
        set => this[Input.Queries] = value;
    }

    /// <summary>The keys, (B, K, E). Null: the queries.</summary>
    public NDArray? Keys
    {
        get => this[Input.Keys];
        set => this[Input.Keys] = value;
    }

    /// <summary>The values, one for each key, (B, K, E). Null: the keys.</summary>
    public NDArray? Values
    {
        get => this[Input.Values];
        set => this[Input.Values] = value;
    }

    /// <summary>How many keys, from the first, each batch element (B) or each query (B, Q) sees; of Float32, Int32 or
    /// Int64, whole numbers from 0 to K. Null: all.</summary>
    public NDArray? ValidLens
    {
        get => this[Input.ValidLens];
        set => this[Input.ValidLens] = value;
    }

    /// <summary>Boolean of (B, H, Q, K) or (Q, K), ones where it is repeated: true where a query may see a key. Null:
    /// everywhere.</summary>
    /// <exception cref="ArgumentException">The mask is not of Boolean: 0 and minus infinity that are added are a
    /// <see cref="Bias"/>.</exception>
    public NDArray? Mask
    {
        get => this[Input.Mask];
        set => this[Input.Mask] = value is null or { ElementType: DataType.Boolean }
            ? value
            : throw new ArgumentException(
            $"Mask is of {value.ElementType}, expected Boolean with true = may attend; Bias takes numbers that are "
            + "added to the scores",
            nameof(Mask));
    }

    /// <summary>Float32 or of the inputs' type, shaped as the mask: added to the scores; minus infinity hides. Null:
    /// nothing is added.</summary>
    public NDArray? Bias
    {
        get => this[Input.Bias];
        set => this[Input.Bias] = value;
    }

    /// <summary>The slopes of ALiBi, Float32 of (H), or (1) where there are no heads: lowers each scaled score by slope *
    /// |distance from query to key|, where the last query is at the last key. <see cref="CreateAlibiSlopes"/> makes those
    /// of the paper. Null: none.</summary>
    public NDArray? AlibiSlopes
    {
        get => this[Input.AlibiSlopes];
        set => this[Input.AlibiSlopes] = value;
    }

    /// <summary>Whether dropout is active; false from the beginning.</summary>
    public bool Training { get; set; }

    /// <summary>The seed of the dropout: the same seed drops the same elements. Null: each call that trains takes the
    /// block's next one, see <see cref="Block.SetSeed"/>.</summary>
    public long? DropoutSeed { get; set; }

    private NDArray? this[Input input]
    {
        get => arrays[(int)input];
        set => arrays[(int)input] = value;
    }

    /// <summary>Makes the slopes of ALiBi for a number of heads (Press et al., 2022): for a power of two 2^(-8/H),
    /// 2^(-16/H), ..., 2^-8; otherwise those of the largest power of two n below H, then the first, third, fifth, ... of
    /// 2n.</summary>
    /// <param name="manager">The manager that the array belongs to.</param>
    /// <param name="numHeads">How many heads, at least 0.</param>
    /// <returns>Float32 of (numHeads).</returns>
    public static NDArray CreateAlibiSlopes(NDManager manager, int numHeads)
    {
        if (manager is null) throw new ArgumentNullException(nameof(manager));
        NDArray slopes = manager.Create(new Shape(numHeads));
        slopes.Tensor.FillAlibiSlopes();
        return slopes;
    }

    /// <summary>Resets everything, so that no input is set.</summary>
    /// <returns>This.</returns>
    public AttentionInputs Clear()
    {
        Array.Clear(arrays, 0, arrays.Length);
        Training = false;
        DropoutSeed = null;
        return this;
    }

    /// <summary>Sets all members for a call.</summary>
    /// <exception cref="ObjectDisposedException">An array is disposed.</exception>
    internal void Fill(TensorMembers<NativeLayerInputs> members) => members.SetAll(arrays);
}
