// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace MakeModel;

/// <summary>The English sentence that a seed draws, and all its translations.</summary>
internal sealed class Sentence
{
    private readonly int seed;

    internal Sentence(int seed)
    {
        this.seed = seed;
        English = InStyle(default).English;
        Translations = [.. Style.All().Select(style => InStyle(style).French).DistinctBy(words => string.Join(' ', words))];
    }

    internal string[] English { get; }

    internal List<string[]> Translations { get; }

    internal Pair InStyle(Style style) => new Grammar(new Random(seed), style).Draw();
}
