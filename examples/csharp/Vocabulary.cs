// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;

/// <summary>The words of one language and their ids.</summary>
internal sealed class Vocabulary
{
    internal const int Pad = 0;
    internal const int Begin = 1;
    internal const int End = 2;

    private readonly List<string> words = ["<pad>", "<begin>", "<end>"];

    internal Vocabulary(IEnumerable<string> sentences)
    {
        var found = new SortedSet<string>(sentences.SelectMany(Split), StringComparer.Ordinal);
        words.AddRange(found);
    }

    internal int Size => words.Count;

    /// <summary>A word goes up to a space, or up to an apostrophe, which belongs to it: l'oiseau has two words.</summary>
    internal static string[] Split(string sentence) =>
        [.. Regex.Matches(sentence, "[^ ']+'?").Select(match => match.Value)];

    /// <summary>The ids of a sentence's words, with the end.</summary>
    internal long[] IdsOf(string sentence) => [.. Split(sentence).Select(word => (long)words.IndexOf(word)), End];

    /// <summary>The words of ids, marks included.</summary>
    internal string[] WordsOf(IEnumerable<long> ids) => [.. ids.Select(id => words[(int)id])];

    /// <summary>The sentence up to the end.</summary>
    internal string TextOf(IEnumerable<long> ids)
    {
        var text = new StringBuilder();
        string separator = "";
        foreach (string word in WordsOf(ids.TakeWhile(id => id != End)))
        {
            text.Append(separator).Append(word);
            separator = word.EndsWith('\'') ? "" : " ";
        }
        return text.ToString();
    }
}
