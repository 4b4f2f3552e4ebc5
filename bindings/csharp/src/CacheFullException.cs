// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;

namespace Heed;

/// <summary>The exception for a <see cref="KvCache"/> that has no room for the rows of a call. The call has changed
/// nothing.</summary>
public sealed class CacheFullException : HeedException
{
    internal CacheFullException(string sentence)
        : base(Status.CacheFull, sentence)
    {
        (Needed, Free) = NumbersOf(sentence);
    }

    /// <summary>How many pages, or rows of a sequence, the call needed, as the message says; -1 if it does not say
    /// it.</summary>
    public long Needed { get; }

    /// <summary>How many of them were free; -1 if the message does not say it.</summary>
    public long Free { get; }

    /// <summary>The two numbers of a sentence with "3 pages needed, 2 free"; -1 for both if it has another
    /// form.</summary>
    private static (long Needed, long Free) NumbersOf(string sentence)
    {
        string[] words = sentence.Split(' ');
        int middle = Array.IndexOf(words, "needed,");
        return middle >= 2 && middle + 2 < words.Length
            && words[middle + 2].TrimEnd(',', ':', ';', '.') == "free"
            && IsNumber(words[middle - 2], out long needed) && IsNumber(words[middle + 1], out long free)
            ? (needed, free)
            : (-1, -1);
    }

    private static bool IsNumber(string word, out long number) =>
        long.TryParse(word, NumberStyles.None, CultureInfo.InvariantCulture, out number);
}
