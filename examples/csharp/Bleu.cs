// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

/// <summary>How near a translation is to the one that was expected (Papineni et al., "BLEU", 2002), as the book computes
/// it.</summary>
internal static class Bleu
{
    private const int Longest = 2;

    /// <summary>From 0 to 1, which is the same words: exp(min(0, 1 - expected words / words)), times p(n)^(1 / 2^n) for n = 1
    /// and 2, where p(n) is the share of the translation's runs of n words that are found in the expected one, each there
    /// once.</summary>
    internal static double Of(string translation, string expected)
    {
        string[] words = Vocabulary.Split(translation);
        string[] others = Vocabulary.Split(expected);
        if (words.Length == 0)
        {
            return 0;
        }
        double score = Math.Exp(Math.Min(0, 1 - ((double)others.Length / words.Length)));
        for (int n = 1; n <= Math.Min(Longest, words.Length); n++)
        {
            List<string> left = RunsOf(others, n);
            int numFound = RunsOf(words, n).Count(left.Remove);
            score *= Math.Pow((double)numFound / (words.Length - n + 1), Math.Pow(0.5, n));
        }
        return score;
    }

    private static List<string> RunsOf(string[] words, int n) =>
        [.. Enumerable.Range(0, Math.Max(0, words.Length - n + 1)).Select(i => string.Join(' ', words[i..(i + n)]))];
}
