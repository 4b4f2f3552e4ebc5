// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The helper functions of d2l-java's chapter on attention.</summary>
public static class Chap10Utils
{
    /// <summary>Moves the heads from the last axis into the batch: (B, S, H * D) becomes (B * H, S, D), with the heads
    /// of a batch element next to each other.</summary>
    /// <param name="x">The array (B, S, H * D).</param>
    /// <param name="numHeads">The number of heads H.</param>
    /// <returns>An array (B * H, S, D), which belongs to the array's manager.</returns>
    /// <exception cref="ArgumentException">The array does not have three axes, or the last is not a multiple of
    /// numHeads.</exception>
    public static NDArray TransposeQkv(NDArray x, int numHeads)
    {
        Shape shape = ShapeOf(x, numHeads);
        long size = shape[2] / numHeads;
        if (size * numHeads != shape[2])
        {
            throw new ArgumentException(
                $"x is of shape {shape}, whose last axis is not a multiple of numHeads, {numHeads}", nameof(x));
        }
        using NDArray split = x.Reshape(shape[0], shape[1], numHeads, size);
        using NDArray heads = split.Transpose(0, 2, 1, 3);
        return heads.Reshape(shape[0] * numHeads, shape[1], size);
    }

    /// <summary>Undoes <see cref="TransposeQkv"/>: (B * H, S, D) becomes (B, S, H * D).</summary>
    /// <param name="x">The array (B * H, S, D).</param>
    /// <param name="numHeads">The number of heads H.</param>
    /// <returns>An array (B, S, H * D), which belongs to the array's manager.</returns>
    /// <exception cref="ArgumentException">The array does not have three axes, or the first is not a multiple of
    /// numHeads.</exception>
    public static NDArray TransposeOutput(NDArray x, int numHeads)
    {
        Shape shape = ShapeOf(x, numHeads);
        long batch = shape[0] / numHeads;
        if (batch * numHeads != shape[0])
        {
            throw new ArgumentException(
                $"x is of shape {shape}, whose first axis is not a multiple of numHeads, {numHeads}", nameof(x));
        }
        using NDArray split = x.Reshape(batch, numHeads, shape[1], shape[2]);
        using NDArray heads = split.Transpose(0, 2, 1, 3);
        return heads.Reshape(batch, shape[1], numHeads * shape[2]);
    }

    /// <summary>Attention weights from scores: softmax over the first n elements of the last axis, where n is the row's
    /// valid length. The other weights are exactly 0. If n is 0, all weights are 0; d2l's function, which sets hidden
    /// scores to -1e6, gives 1/K. Otherwise both give the same, unless scores are themselves near -1e6.</summary>
    /// <param name="scores">Scores (B, Q, K) or (B, H, Q, K), of Float32, Float16 or BFloat16.</param>
    /// <param name="validLens">Lengths (B) or (B, Q) of Float32, Int32 or Int64, whole numbers from 0 to K. Null: no
    /// key is hidden.</param>
    /// <returns>An array of the shape and type of the scores, which belongs to their manager.</returns>
    /// <exception cref="ArgumentException">A shape, type or length does not fit.</exception>
    public static NDArray MaskedSoftmax(NDArray scores, NDArray? validLens)
    {
        _ = scores ?? throw new ArgumentNullException(nameof(scores));
        NativeTensor given = NDArray.TensorOf(scores, nameof(scores))!;
        NativeTensor? lengths = NDArray.TensorOf(validLens, nameof(validLens));
        Tape.Refuse("validLens of MaskedSoftmax", validLens);
        Tape? tape = Tape.For(ReductionGradients.MaskedSoftmax.Name, scores);
        NDArray shares = scores.Manager.NewArray(
            scores.Shape, scores.DataType, weights => HeedNative.HeedMaskedSoftmax(given, lengths, weights));
        return tape is null
            ? shares : tape.Record(ReductionGradients.MaskedSoftmax, shares, scores, arguments: -1);
    }

    private static Shape ShapeOf(NDArray x, int numHeads)
    {
        Shape shape = (x ?? throw new ArgumentNullException(nameof(x))).Shape;
        if (shape.Dimension != 3)
        {
            throw new ArgumentException($"x is of shape {shape}, expected three axes", nameof(x));
        }
        return numHeads > 0
            ? shape
            : throw new ArgumentOutOfRangeException(nameof(numHeads), $"{numHeads}", "expected 1 or more");
    }
}
