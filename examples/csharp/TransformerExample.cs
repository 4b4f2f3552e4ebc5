// SPDX-License-Identifier: Apache-2.0
// The Transformer of "Dive into Deep Learning", a chapter that d2l-java does not have, put together of heed's parts and
// arithmetic: an encoder, and a decoder that continues two sentences greedily, step by step. Beside them compute heed's
// own encoder and decoder, with the same parameters.
//
//   run transformer
using System;
using System.Globalization;
using Heed;

internal static class TransformerExample
{
    private const int NumTokens = 24;
    private const int NumSteps = 6;
    private const long Begin = 1; // The token before the first one.

    internal static int Main()
    {
        using NDManager manager = NDManager.NewBaseManager();
        using var encoder = new ComposedTransformer.Encoder(manager, NumTokens);
        using var decoder = new ComposedTransformer.Decoder(manager, NumTokens);
        NDArray sources = manager.Create(new long[] { 5, 11, 2, 9, 17, 3, 8, 4, 20, 6, 0, 0 }, new Shape(2, 6));
        NDArray validLens = manager.Create(new[] { 6, 4 });
        NDArray begins = manager.Full(new Shape(2, 1), Begin, DataType.Int64);
        encoder.SetSeed(59); // A program's weights: Load.
        encoder.Initialize(manager, DataType.Float32, sources.Shape, validLens.Shape);
        decoder.SetSeed(59);
        var memoryShape = new Shape(2, 6, ComposedTransformer.NumHiddens);
        decoder.Initialize(manager, DataType.Float32, begins.Shape, memoryShape, validLens.Shape);

        NDArray memory = encoder.Forward(sources, validLens).Head;
        using TransformerEncoder heedsEncoder = HeedsTransformer.NewEncoder(encoder);
        float ofEncoder = LargestDifference(memory, heedsEncoder.Forward(sources, validLens).Head);
        Print($"encoder: {memory.Shape}, largest difference to heed's encoder {ofEncoder:0.0e+00}");

        var logits = new NDList();
        NDArray tokens = DecodeGreedily(decoder, memory, validLens, begins, logits);
        for (int i = 0; i < 2; i++)
        {
            Print($"sentence {i}: tokens [{string.Join(", ", tokens[i].ToLongArray())}]");
        }

        // heed's decoder reads the tokens of all steps in one call.
        NDArray read = begins.Concat(tokens[.., ..^1], 1);
        NDArray ofSteps = NDArrays.Concat(logits, 1);
        using TransformerDecoder heedsDecoder = HeedsTransformer.NewDecoder(decoder);
        NDArray ofCall = heedsDecoder.Forward(read, memory, validLens).Head;
        float ofDecoder = LargestDifference(ofSteps, ofCall);
        bool hasSameTokens = ofCall.ArgMax(-1).ContentEquals(tokens);
        string which = hasSameTokens ? "the same" : "OTHER";
        Print($"decoder: {ofSteps.Shape}, largest difference to heed's decoder {ofDecoder:0.0e+00}; {which} tokens");
        return ofEncoder < 1e-5f && ofDecoder < 1e-5f && hasSameTokens ? 0 : 1; // 1 for NaN.
    }

    /// <summary>Appends the token with the largest logit, again and again. Returns the tokens (2, steps).</summary>
    private static NDArray DecodeGreedily(
        ComposedTransformer.Decoder decoder, NDArray memory, NDArray validLens, NDArray begins, NDList logits)
    {
        NDArray last = begins;
        var tokens = new NDList();
        var rows = new NDList();
        for (int step = 0; step < NumSteps; step++)
        {
            NDList results = decoder.Forward([last, memory, validLens, .. rows]);
            rows = results.SubNDList(1);
            logits.Add(results.Head);
            last = results.Head.ArgMax(-1);
            tokens.Add(last);
        }
        return NDArrays.Concat(tokens, 1);
    }

    private static float LargestDifference(NDArray a, NDArray b) => (a - b).Abs().Max().Item<float>();

    private static void Print(FormattableString text) => Console.WriteLine(text.ToString(CultureInfo.InvariantCulture));
}
