// SPDX-License-Identifier: Apache-2.0
// Trains the recurrent encoder and decoder with Bahdanau's additive attention on forty sentences until it knows their
// translations by heart; prints some, written greedily, and what the steps of one of them attend to.
//
//   run train_bahdanau examples/training/sentences.tsv [PICTURE.svg]
//
// Ends with status 1 if it has not learned most of them.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Heed;

internal static class TrainBahdanauExample
{
    private const int NumHiddens = 32;
    private const int NumSteps = 200;
    private const double LearningRate = 1e-2;
    private const int MaxTokens = 12;
    private const int NumShown = 5;
    private const double LeastBleu = 0.95;

    internal static int Main(string[] args)
    {
        if (args.Length is not (1 or 2))
        {
            Console.Error.WriteLine("usage: train_bahdanau SENTENCES.tsv [PICTURE.svg]");
            return 2;
        }
        using NDManager manager = NDManager.NewBaseManager();
        var pairs = new SentencePairs(manager, args[0]);
        var encoder = new BahdanauBlocks.Encoder(pairs.EnglishWords.Size, NumHiddens);
        var decoder = new BahdanauBlocks.AttentionDecoder(pairs.FrenchWords.Size, NumHiddens);
        using var block = new EncoderDecoder(encoder, decoder, NumHiddens);
        block.SetSeed(1);
        manager.SetSeed(1);
        TrainingRecord record = TranslationTraining.Train("bahdanau", block, pairs, NumSteps, LearningRate);
        Print($"{NumSteps} steps: the loss falls from {record.Losses[0]:F3} to {record.Losses[^1]:F3}");
        if (args.Length == 2)
        {
            double guessing = Math.Log(pairs.FrenchWords.Size);
            LossCurve.Write(args[1], "Additive attention learns to translate", record.Losses, guessing);
        }
        return TranslateAll(manager, pairs, encoder, decoder) >= LeastBleu ? 0 : 1;
    }

    private static void Print(FormattableString text) => Console.WriteLine(text.ToString(CultureInfo.InvariantCulture));

    /// <summary>Returns the mean BLEU.</summary>
    private static double TranslateAll(NDManager manager, SentencePairs pairs, Block encoder, Block decoder)
    {
        double sum = 0;
        for (int i = 0; i < pairs.English.Count; i++)
        {
            using NDManager sub = manager.NewSubManager();
            long[] ids = pairs.EnglishWords.IdsOf(pairs.English[i]);
            var weights = new List<float[]>();
            long[] written = Translate(sub, pairs, ids, encoder, decoder, weights);
            string translation = pairs.FrenchWords.TextOf(written);
            double bleu = Bleu.Of(translation, pairs.French[i]);
            sum += bleu;
            if (i == 0)
            {
                Explain(pairs.FrenchWords.WordsOf(written), pairs.EnglishWords.WordsOf(ids), weights);
            }
            if (i % (pairs.English.Count / NumShown) == 0)
            {
                Print($"  {pairs.English[i]} => {translation} (BLEU {bleu:F3})");
            }
        }
        Print($"BLEU {sum / pairs.English.Count:F3} of {pairs.English.Count} sentences, written greedily");
        return sum / pairs.English.Count;
    }

    /// <summary>Writes the most probable word, again and again. The sentence is padded, as it was when it was
    /// learned.</summary>
    private static long[] Translate(
        NDManager sub, SentencePairs pairs, long[] ids, Block encoder, Block decoder, List<float[]> weights)
    {
        var padded = new long[pairs.Sources.GetSize(1)];
        ids.CopyTo(padded, 0);
        NDArray memory = encoder.Forward(sub.Create(padded, new Shape(1, padded.Length))).Head;
        NDArray lens = sub.Create(new long[] { ids.Length });
        NDArray state = memory[.., ^1];
        var written = new List<long> { Vocabulary.Begin };
        do
        {
            NDArray last = sub.Create(new[] { written[^1] }, new Shape(1, 1));
            NDList results = decoder.Forward(last, memory, lens, state);
            written.Add(results[0].ArgMax(-1).Item<long>());
            state = results[1];
            weights.Add(results[2].ToFloatArray());
        }
        while (written[^1] != Vocabulary.End && written.Count <= MaxTokens);
        return [.. written.Skip(1)];
    }

    /// <summary>Prints what each word that is written attends to.</summary>
    private static void Explain(string[] written, string[] read, List<float[]> weights)
    {
        foreach ((string word, float[] row) in written.Zip(weights))
        {
            var ofWords = read.Zip(row, (other, weight) => $"{other} {weight.ToString("F2", CultureInfo.InvariantCulture)}");
            Print($"  {word}: {string.Join(' ', ofWords)}");
        }
    }
}
