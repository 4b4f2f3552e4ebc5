// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>The inputs that a block takes in a list, with their places among all inputs of a call, as its native layer
/// says them (bindings/swig/lists.h).</summary>
internal sealed class ListInputs
{
    private readonly string[] names;

    /// <summary>The place of each input of the list.</summary>
    private readonly int[] places;

    /// <summary>The places of ids, whose type is not that of the parameters.</summary>
    private readonly int[] ids;
    private readonly int numRequired;

    internal ListInputs(string said)
    {
        string[][] entries = said.Split(' ').Select(entry => entry.Split('=')).ToArray();
        names = Array.ConvertAll(entries, entry => entry[0]);
        places = Array.ConvertAll(entries, entry => AttentionInputs.PlaceOf(entry[1].TrimEnd('#', '?')));
        ids = places.Where((_, index) => entries[index][1].Contains('#')).ToArray();
        numRequired = entries.Count(entry => !entry[1].EndsWith("?", StringComparison.Ordinal));
    }

    /// <summary>The output that takes the least memory. It is made to check whether inputs fit.</summary>
    internal Wanted Smallest => names[0] == "queries" ? Wanted.LogSumExp : Wanted.Output;

    /// <summary>Whether inputs are ids, which do not tell the type of the parameters.</summary>
    internal bool HasIds => ids.Length > 0;

    /// <summary>Returns what the list has for each place, null where it has nothing. Throws if there are too many
    /// inputs, or a required one is missing or null.</summary>
    /// <param name="list">The list.</param>
    /// <param name="name">Its name.</param>
    /// <param name="what">What is in it, in the singular.</param>
    internal T?[] Placed<T>(IReadOnlyList<T?> list, string name, string what)
        where T : class
    {
        if (list.Count < numRequired || list.Count > names.Length)
        {
            throw new ArgumentException(
                $"{name} has {list.Count} {(list.Count == 1 ? what : what + "s")}, expected {Expected()}", name);
        }
        for (int i = 0; i < numRequired; i++)
        {
            _ = list[i] ?? throw new ArgumentNullException(names[i]);
        }
        var placed = new T?[list.Count == 0 ? 0 : places[list.Count - 1] + 1];
        for (int i = 0; i < list.Count; i++)
        {
            placed[places[i]] = list[i];
        }
        return placed;
    }

    /// <summary>The index in the list of the input that has a place.</summary>
    internal int IndexAt(int place) => Array.IndexOf(places, place);

    internal string NameAt(int place) => names[IndexAt(place)];

    /// <summary>The type of an input of a block with parameters of this type; of lengths Float32.</summary>
    internal DataType TypeOf(int place, DataType dataType) =>
        Array.IndexOf(ids, place) >= 0 ? DataType.Int64
        : place < AttentionInputs.PlaceOf("valid_lens") ? dataType : DataType.Float32;

    private string Expected()
    {
        string required = string.Join(", ", names, 0, numRequired);
        int numOptional = names.Length - numRequired;
        return numOptional == 0 ? $"{numRequired}: {required}"
            : $"{numRequired} {(numOptional == 1 ? "or" : "to")} {names.Length}: {required} and, optional, "
                + string.Join(" and ", names, numRequired, numOptional);
    }
}
