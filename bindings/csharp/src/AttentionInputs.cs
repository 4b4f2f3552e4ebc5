// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>What a block reads in the form of Forward that allocates nothing. May be changed and used again; belongs
/// to one thread at a time.</summary>
/// <remarks>Letters in shapes: B batch, H heads, Q queries, K keys. Rank 4, (B, H, Q, D) and (B, H, K, D), is for
/// dot-product attention alone. Queries, keys and values have one type of Float32, Float16 and BFloat16.</remarks>
public sealed class AttentionInputs
{
    private NDArray? mask;

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

    /// <summary>What attends, (B, Q, E). Of Linear and Dropout the input, of any shape. Has to be given.</summary>
    public NDArray? Queries { get; set; }

    /// <summary>What is attended to, (B, K, E). Null: the queries.</summary>
    public NDArray? Keys { get; set; }

    /// <summary>What the keys stand for, (B, K, E). Null: the keys.</summary>
    public NDArray? Values { get; set; }

    /// <summary>How many keys, from the first, each batch item (B) or each query (B, Q) sees; of Float32, Int32 or
    /// Int64, whole numbers from 0 to K. Null: all.</summary>
    public NDArray? ValidLens { get; set; }

    /// <summary>Boolean of (B, H, Q, K) or (Q, K), ones where it is repeated: true where a query may see a key. Null:
    /// everywhere.</summary>
    /// <exception cref="ArgumentException">The mask is not of Boolean: 0 and minus infinity that are added are a
    /// <see cref="Bias"/>.</exception>
    public NDArray? Mask
    {
        get => mask;
        set => mask = value is null or { ElementType: DataType.Boolean } ? value : throw new ArgumentException(
            $"Mask is of {value.ElementType}, expected Boolean with true = may attend; Bias takes numbers that are "
            + "added to the scores",
            nameof(Mask));
    }

    /// <summary>Float32 or of the inputs' type, shaped as the mask: added to the scores; minus infinity hides. Null:
    /// nothing is added.</summary>
    public NDArray? Bias { get; set; }

    /// <summary>Whether dropout is active; false from the beginning.</summary>
    public bool Training { get; set; }

    /// <summary>The seed of the dropout: the same seed drops the same elements. Null: each call that trains takes the
    /// block's next one, see <see cref="Block.SetSeed"/>.</summary>
    public long? DropoutSeed { get; set; }

    internal LayerInputs Native => new LayerInputs(
        NDArray.TensorOf(Queries, nameof(Queries)),
        NDArray.TensorOf(Keys, nameof(Keys)),
        NDArray.TensorOf(Values, nameof(Values)),
        NDArray.TensorOf(ValidLens, nameof(ValidLens)),
        NDArray.TensorOf(Mask, nameof(Mask)),
        NDArray.TensorOf(Bias, nameof(Bias)));

    /// <summary>Puts everything back to how it was in the beginning, so that no array is referred to.</summary>
    /// <returns>This.</returns>
    public AttentionInputs Clear()
    {
        Queries = null;
        Keys = null;
        Values = null;
        ValidLens = null;
        Mask = null;
        Bias = null;
        Training = false;
        DropoutSeed = null;
        return this;
    }
}
