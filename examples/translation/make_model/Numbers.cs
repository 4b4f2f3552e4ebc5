// SPDX-License-Identifier: Apache-2.0
using System.Collections.Generic;
using System.Linq;

namespace MakeModel;

/// <summary>The ids of tokens: their places in the vocabulary, whose first token ends a sentence and whose last one
/// pads.</summary>
internal sealed class Numbers(string[] vocabulary)
{
    private readonly Dictionary<string, long> ids =
        vocabulary.Select((token, id) => (token, id)).ToDictionary(entry => entry.token, entry => (long)entry.id);

    internal int Count => vocabulary.Length;

    internal long End => 0;

    internal long Pad => vocabulary.Length - 1;

    /// <summary>With the end.</summary>
    internal long[] Of(string[] words) => [.. words.Select(word => ids[word]), End];
}
