// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Heed;

/// <summary>Sentences and their translations, which a program learns by heart.</summary>
internal sealed class SentencePairs
{
    /// <summary>Reads a file that has a pair on each line, with a tab between the two.</summary>
    internal SentencePairs(NDManager manager, string file)
    {
        string[][] pairs = [.. File.ReadLines(file).Select(line => line.Split('\t'))];
        English = [.. pairs.Select(pair => pair[0])];
        French = [.. pairs.Select(pair => pair[1])];
        EnglishWords = new Vocabulary(English);
        FrenchWords = new Vocabulary(French);
        long[][] read = [.. English.Select(EnglishWords.IdsOf)];
        long[][] written = [.. French.Select(FrenchWords.IdsOf)];
        Sources = Padded(manager, read);
        SourceLens = LengthsOf(manager, read);
        Targets = Padded(manager, [.. written.Select(ids => ids[..^1].Prepend(Vocabulary.Begin).ToArray())]);
        Labels = Padded(manager, written);
        TargetLens = LengthsOf(manager, written);
        NumTokens = read.Concat(written).Sum(ids => ids.Length);
    }

    internal IReadOnlyList<string> English { get; }

    internal IReadOnlyList<string> French { get; }

    internal Vocabulary EnglishWords { get; }

    internal Vocabulary FrenchWords { get; }

    /// <summary>(pairs, S): the ids of the English words and the end.</summary>
    internal NDArray Sources { get; }

    /// <summary>(pairs): how many of them count.</summary>
    internal NDArray SourceLens { get; }

    /// <summary>(pairs, T): the beginning, then the ids of the French words.</summary>
    internal NDArray Targets { get; }

    /// <summary>(pairs, T): what follows each of the targets: the ids of the French words, then the end.</summary>
    internal NDArray Labels { get; }

    /// <summary>(pairs): how many of targets and labels count.</summary>
    internal NDArray TargetLens { get; }

    /// <summary>How many ids are read and written.</summary>
    internal long NumTokens { get; }

    private static NDArray LengthsOf(NDManager manager, long[][] rows) =>
        manager.Create(rows.Select(row => (long)row.Length).ToArray());

    /// <summary>Rows of the length of the longest one.</summary>
    private static NDArray Padded(NDManager manager, long[][] rows)
    {
        int length = rows.Max(row => row.Length);
        var all = new long[rows.Length * length];
        Array.Fill(all, Vocabulary.Pad);
        for (int i = 0; i < rows.Length; i++)
        {
            rows[i].CopyTo(all, i * length);
        }
        return manager.Create(all, new Shape(rows.Length, length));
    }
}
