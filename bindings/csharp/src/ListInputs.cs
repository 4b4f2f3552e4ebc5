// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>The inputs that a block takes in a list, with their places among all inputs of a call.</summary>
internal sealed class ListInputs
{
    internal static readonly ListInputs Attention = new ListInputs(3, "queries", "keys", "values", "validLens")
    {
        Smallest = Wanted.LogSumExp,
    };

    internal static readonly ListInputs Single = new ListInputs(1, "input");

    /// <summary>The ids of an embedding, whose type is not that of the parameters.</summary>
    internal static readonly ListInputs Ids = new ListInputs(1, "input") { ids = new[] { 0 } };

    internal static readonly ListInputs Encoder = new ListInputs(1, "x", "validLens")
    {
        places = new[] { 0, ValidLens },
    };

    internal static readonly ListInputs Decoder = new ListInputs(1, "x", "memory", "memoryValidLens")
    {
        places = new[] { 0, 1, ValidLens },
    };

    internal static readonly ListInputs EncoderOfIds = new ListInputs(1, "ids", "validLens", "tokenTypes")
    {
        places = new[] { 0, ValidLens, TokenTypes }, ids = new[] { 0, TokenTypes },
    };

    internal static readonly ListInputs DecoderOfIds = new ListInputs(1, "ids", "selfValidLens")
    {
        places = new[] { 0, SelfValidLens }, ids = new[] { 0 },
    };

    internal static readonly ListInputs CrossDecoderOfIds = new ListInputs(2, "ids", "memory", "memoryValidLens")
    {
        places = new[] { 0, 1, ValidLens }, ids = new[] { 0 },
    };

    /// <summary>The places of inputs, by <see cref="AttentionInputs.Members"/> and what comes after them.</summary>
    private const int ValidLens = 3;
    private const int TokenTypes = 8;
    private const int SelfValidLens = 13;

    private readonly int numRequired;
    private readonly string[] names;

    /// <summary>The place of each input of the list.</summary>
    private int[] places = { 0, 1, 2, ValidLens };

    /// <summary>The places of whole numbers whose type is not that of the parameters.</summary>
    private int[] ids = Array.Empty<int>();

    private ListInputs(int numRequired, params string[] names)
    {
        this.numRequired = numRequired;
        this.names = names;
    }

    /// <summary>The output that takes the least memory. It is made to check whether inputs fit.</summary>
    internal Wanted Smallest { get; private set; } = Wanted.Output;

    /// <summary>Whether inputs are ids, which do not tell the type of the parameters.</summary>
    internal bool HasIds => ids.Length > 0;

    /// <summary>Whether a call may have keys or a memory and no queries.</summary>
    internal bool MayLackQueries { get; private set; }

    /// <summary>The inputs of a Transformer, each side of which reads ids or rows.</summary>
    internal static ListInputs Transformer(bool decoderIds, bool encoderIds)
    {
        var ids = new List<int>();
        if (decoderIds) ids.Add(0);
        if (encoderIds) ids.Add(1);
        return new ListInputs(2, "decoderInput", "encoderInput", "validLens")
        {
            places = new[] { 0, 1, ValidLens }, ids = ids.ToArray(), MayLackQueries = true,
        };
    }

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
        Array.IndexOf(ids, place) >= 0 ? DataType.Int64 : place < ValidLens ? dataType : DataType.Float32;

    private string Expected()
    {
        string required = string.Join(", ", names, 0, numRequired);
        int numOptional = names.Length - numRequired;
        return numOptional == 0 ? $"{numRequired}: {required}"
            : $"{numRequired} {(numOptional == 1 ? "or" : "to")} {names.Length}: {required} and, optional, "
                + string.Join(" and ", names, numRequired, numOptional);
    }
}
