// SPDX-License-Identifier: Apache-2.0
// Translates English sentences into French with a whole Transformer from its folder, by greedy search and by beam search
// with caches: see Translator.
//
//   run translation examples/translation the cat sees a small green bird
//   run translation examples/translation
//
// Without words it translates sentences that the model was not trained with, and compares tokens, logits and scores with
// those that PyTorch computed. examples/translation/README.md says which words the model knows.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using Heed;

internal static class TranslationExample
{
    internal static int Main(string[] args)
    {
        if (args is not [var folder, .. var words])
        {
            Console.Error.WriteLine("usage: translation FOLDER [WORD...]");
            return 2;
        }
        using Translator translator = new Translator(folder);
        if (words.Length == 0)
        {
            return new Expected(translator, Path.Combine(folder, "expected.safetensors")).Compare() ? 0 : 1;
        }
        if (words.Length > Translator.MaxTokens)
        {
            Console.Error.WriteLine($"the sentence has {words.Length} words, expected up to {Translator.MaxTokens}");
            return 2;
        }
        if (Array.Find(words, word => translator.IdOf(word) < 0) is string unknown)
        {
            Console.Error.WriteLine(
                $"the model does not know the word \"{unknown}\": {Path.Combine(folder, "README.md")} has a list of its words");
            return 2;
        }
        translator.ReadSentence([.. words.Select(translator.IdOf), translator.End]);
        Print(translator, "greedy search", translator.Search.Greedily(out _));
        Print(translator, "four beams", translator.Search.WithBeams());
        return 0;
    }

    private static void Print(Translator translator, string search, BeamSearch.Beam beam)
    {
        string score = beam.Score.ToString("0.0000", CultureInfo.InvariantCulture);
        Console.WriteLine($"  {search}: {translator.TextOf(beam.Tokens)} ({score})");
    }

    /// <summary>Sentences, and what PyTorch made of them.</summary>
    private sealed class Expected(Translator translator, string file)
    {
        private readonly long[][] sourceIds = LoadIds(translator, file, "source_ids");
        private readonly long[][] greedyIds = LoadIds(translator, file, "greedy_ids");
        private readonly long[][] beamIds = LoadIds(translator, file, "beam_ids");

        /// <summary>Of the first steps of each sentence, one after another.</summary>
        private readonly float[] greedyLogits = translator.Manager.Load(file, "greedy_logits").ToFloatArray();

        private readonly float[] greedyScores = translator.Manager.Load(file, "greedy_scores").ToFloatArray();
        private readonly float[] beamScores = translator.Manager.Load(file, "beam_scores").ToFloatArray();
        private double largestOfLogits;
        private double largestOfScores;

        /// <summary>Translates the sentences. Returns whether the results are PyTorch's.</summary>
        internal bool Compare()
        {
            int numSame = 0;
            for (int i = 0; i < sourceIds.Length; i++)
            {
                Console.WriteLine(translator.TextOf(sourceIds[i]));
                translator.ReadSentence(sourceIds[i]);
                BeamSearch.Beam greedy = translator.Search.Greedily(out List<float[]> logits);
                Print(translator, "greedy search", greedy);
                bool isSame = HasTokens(greedy, greedyIds[i]);
                BeamSearch.Beam best = translator.Search.WithBeams();
                Print(translator, "four beams", best);
                isSame &= HasTokens(best, beamIds[i]);
                numSame += isSame ? 1 : 0;
                CompareLogits(i, logits);
                largestOfScores = Math.Max(largestOfScores, Math.Abs(greedy.Score - greedyScores[i])); // NaN stays.
                largestOfScores = Math.Max(largestOfScores, Math.Abs(best.Score - beamScores[i]));
            }

            // docs/models.md: logits of whole models agree to 1e-5 of the largest. The logarithm of a probability is a
            // logit less the logarithm of a sum, each of which differs by no more; a score is a mean of them.
            double bound = 1e-5 * greedyLogits.Max(Math.Abs);
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"tokens of PyTorch: {numSame} of {sourceIds.Length} sentences; largest difference of logits "
                + $"{largestOfLogits:0.0e-00} (bound {bound:0.0e-00}), of scores {largestOfScores:0.0e-00}"));
            return numSame == sourceIds.Length && largestOfLogits <= bound && largestOfScores <= 2 * bound;
        }

        private void CompareLogits(int sentence, List<float[]> logits)
        {
            int numLogits = greedyLogits.Length / sourceIds.Length;
            int size = translator.NumTokens;
            for (int i = 0; i < numLogits; i++)
            {
                double difference = logits[i / size][i % size] - greedyLogits[sentence * numLogits + i];
                largestOfLogits = Math.Max(largestOfLogits, Math.Abs(difference));
            }
        }

        private bool HasTokens(BeamSearch.Beam beam, long[] expected)
        {
            if (beam.Tokens.SequenceEqual(expected))
            {
                return true;
            }
            Console.WriteLine($"  PyTorch: {translator.TextOf(expected)}");
            return false;
        }

        /// <summary>Each row without the padding at its end.</summary>
        private static long[][] LoadIds(Translator translator, string file, string name)
        {
            NDArray array = translator.Manager.Load(file, name);
            return [.. array.ToLongArray().Chunk((int)array.Shape[1])
                .Select(row => row.TakeWhile(id => id != translator.Start).ToArray())];
        }
    }
}
