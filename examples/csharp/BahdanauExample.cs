// SPDX-License-Identifier: Apache-2.0
// Bahdanau's attention of "Dive into Deep Learning", a chapter that d2l-java does not have: a decoder whose state, at
// each step, asks an additive attention which of the encoder's outputs it needs. Encoder and decoder are recurrent; their
// cell is put together of two linear layers and arithmetic.
//
//   run bahdanau
using System;
using System.Globalization;
using System.Linq;
using Heed;

internal static class BahdanauExample
{
    private const int NumTokens = 20;
    private const int NumHiddens = 16;

    /// <summary>Returns 0 if two calls, of which the second one carries on the state, give what one call
    /// gives.</summary>
    internal static int Main()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var encoder = new BahdanauBlocks.Encoder(NumTokens, NumHiddens);
        using var decoder = new BahdanauBlocks.AttentionDecoder(NumTokens, NumHiddens);
        NDArray sources = manager.Create(new long[] { 5, 11, 2, 9, 17, 3, 8, 4, 19, 6, 0, 0 }, new Shape(2, 6));
        NDArray validLens = manager.Create(new[] { 6, 4 });
        NDArray targets = manager.Create(new long[] { 1, 7, 12, 4, 1, 15, 3, 3 }, new Shape(2, 4));
        encoder.SetSeed(42); // A program's weights: Load.
        encoder.Initialize(manager, DataType.Float32, sources.Shape);
        NDArray memory = encoder.Forward(sources).Head;
        NDArray state = memory[.., ^1];
        decoder.SetSeed(43);
        decoder.Initialize(manager, DataType.Float32, targets.Shape, memory.Shape, validLens.Shape, state.Shape);

        NDList all = decoder.Forward(targets, memory, validLens, state);
        Console.WriteLine($"logits {all[0].Shape}, state {all[1].Shape}");
        for (int i = 0; i < 2; i++)
        {
            Console.WriteLine($"sentence {i}: what each step attends to");
            foreach (NDArray step in all[2][i])
            {
                var weights = step.ToFloatArray().Select(weight => weight.ToString("F3", CultureInfo.InvariantCulture));
                Console.WriteLine($"  {string.Join(" ", weights)}");
            }
        }

        NDList first = decoder.Forward(targets[.., ..1], memory, validLens, state);
        NDList rest = decoder.Forward(targets[.., 1..], memory, validLens, first[1]);
        bool isSame = rest[1].ContentEquals(all[1]) && first[0].Concat(rest[0], 1).ContentEquals(all[0]);
        Console.WriteLine($"in two calls with the state carried on: {(isSame ? "the same bits" : "OTHER bits")}");
        return isSame ? 0 : 1;
    }
}
