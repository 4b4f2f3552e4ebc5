// SPDX-License-Identifier: Apache-2.0
// Self-attention of an encoder, with rotary positions, over sentences of different lengths: padded to the longest, and
// packed one after another without padding. Both give the same bits; packed, no padding is computed.
//
//   run packed_encoder
using System;
using Heed;

internal static class PackedEncoderExample
{
    private const int NumHiddens = 64;
    private const int Longest = 9;
    private const int NumWords = 18;
    private static readonly int[] Lengths = [5, 1, 9, 3];

    /// <summary>Where each sentence begins in the packed words, and where the last one ends.</summary>
    private static readonly int[] Offsets = [0, 5, 6, 15, 18];

    internal static int Main()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using MultiHeadAttention attention = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = NumHiddens,
            NumHeads = 4,
            Rope = new RopeOptions { Layout = RopeLayout.Half },
        });
        Shape shape = new Shape(Lengths.Length, Longest, NumHiddens);
        attention.Initialize(manager, DataType.Float32, shape, shape, shape); // A program's weights: Load.
        NDArray words = manager.RandomNormal(new Shape(NumWords, NumHiddens)); // A program's embeddings.

        // Keys and values are those of the queries.
        NDArray ofPadded = Forward(
            attention, new AttentionInputs(Padded(words), validLens: manager.Create(Lengths)));
        int numRows = Lengths.Length * Longest;
        Console.WriteLine($"padded: {numRows} rows, {numRows - NumWords} of them padding");

        NDArray ofPacked = Forward(
            attention, new AttentionInputs(words) { QueryOffsets = manager.Create(Offsets) });
        Console.WriteLine($"packed: {NumWords} rows");

        bool isSame = true;
        for (int b = 0; b < Lengths.Length; b++)
        {
            NDArray sentence = ofPacked.Slice(0, Offsets[b], Lengths[b]);
            isSame &= ofPadded[b].Slice(0, 0, Lengths[b]).ContentEquals(sentence);
        }
        Console.WriteLine($"the rows of words have {(isSame ? "the same" : "DIFFERENT")} bits");
        return isSame ? 0 : 1;
    }

    /// <summary>The words of each sentence at the beginning of its rows; zeros behind them.</summary>
    private static NDArray Padded(NDArray words)
    {
        NDArray rows = words.Manager.Zeros(new Shape(Lengths.Length, Longest, NumHiddens));
        for (int b = 0; b < Lengths.Length; b++)
        {
            words.Slice(0, Offsets[b], Lengths[b]).CopyTo(rows[b].Slice(0, 0, Lengths[b]));
        }
        return rows;
    }

    private static NDArray Forward(MultiHeadAttention attention, AttentionInputs inputs)
    {
        AttentionOutputs outputs = attention.CreateOutputs(inputs);
        attention.Forward(inputs, outputs);
        return outputs.Output!;
    }
}
