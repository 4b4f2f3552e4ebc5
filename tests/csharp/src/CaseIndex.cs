// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>The indices of a case, which are written as Java's NDIndex reads them.</summary>
internal static class CaseIndex
{
    /// <summary>The parts of a text, in which each "{}" stands for the next array.</summary>
    internal static NDIndex[] Of(string text, IEnumerable<object?> arrays)
    {
        using IEnumerator<object?> next = arrays.GetEnumerator();
        return text.Split(',').Select(part => OfPart(part.Trim(), next)).ToArray();
    }

    private static NDIndex OfPart(string part, IEnumerator<object?> arrays)
    {
        if (part == "{}")
        {
            Assert.True(arrays.MoveNext());
            return (NDArray)arrays.Current!;
        }
        if (part is "..." or "null" or "*")
        {
            return part switch { "..." => NDIndex.Ellipsis, "null" => NDIndex.NewAxis, _ => NDIndex.Slice() };
        }
        long?[] ends = part.Split(':').Select(end => end.Trim() is "" ? null : (long?)long.Parse(end, CultureInfo.InvariantCulture)).ToArray();
        return ends.Length == 1 ? ends[0]!.Value : NDIndex.Slice(ends[0], ends[1], ends.ElementAtOrDefault(2) ?? 1);
    }
}
