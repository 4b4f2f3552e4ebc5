// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text.RegularExpressions;

namespace Heed;

/// <summary>The options that a native layer says in JSON, by their names in C. A query also takes the value of a
/// missing one.</summary>
internal sealed class SaidOptions
{
    private static readonly Regex Token = new Regex("[\\[\\]{}]|\"[^\"]*\"|[-+.\\w]+");

    /// <summary>Numbers and words as text, objects, and lists of these.</summary>
    private readonly Dictionary<string, object> members = new Dictionary<string, object>();

    internal SaidOptions(string json)
        : this(new Queue<string>(Token.Matches(json).Cast<Match>().Select(match => match.Value.Trim('"')).Skip(1)))
    {
    }

    private SaidOptions(Queue<string> tokens)
    {
        for (string name = tokens.Dequeue(); name != "}"; name = tokens.Dequeue())
        {
            members[name] = ValueOf(tokens.Dequeue(), tokens);
        }
    }

    internal long Number(string name, long otherwise) =>
        Text(name) is { } text ? long.Parse(text, CultureInfo.InvariantCulture) : otherwise;

    internal float Number(string name, float otherwise) => Text(name) is { } text ? Float(text) : otherwise;

    internal bool Is(string name) => Text(name) == "true";

    internal T Word<T>(string name, T otherwise)
        where T : struct, Enum =>
        Text(name) is { } word ? WordOf<T>(word) : otherwise;

    /// <summary>A set of bits, of which the layer says all words.</summary>
    internal Bias Bits(string name, Bias otherwise) =>
        List<string>(name)?.Aggregate(Bias.None, (bits, word) => bits | WordOf<Bias>(word)) ?? otherwise;

    internal float[]? Numbers(string name) => List<string>(name)?.ConvertAll(Float).ToArray();

    /// <summary>The options of a part; null: there is none.</summary>
    internal SaidOptions? Part(string name) => members.TryGetValue(name, out object? part) ? (SaidOptions)part : null;

    internal List<SaidOptions>? Parts(string name) => List<SaidOptions>(name);

    private static float Float(string text) => float.Parse(text, CultureInfo.InvariantCulture);

    private static T WordOf<T>(string word)
        where T : struct, Enum =>
        (T)Enum.Parse(typeof(T), word.Replace("_", string.Empty), ignoreCase: true);

    private static object ValueOf(string token, Queue<string> tokens)
    {
        if (token == "{")
        {
            return new SaidOptions(tokens);
        }
        if (token != "[")
        {
            return token;
        }
        var list = new List<object>();
        for (string each = tokens.Dequeue(); each != "]"; each = tokens.Dequeue())
        {
            list.Add(ValueOf(each, tokens));
        }
        return list;
    }

    private string? Text(string name) => members.TryGetValue(name, out object? text) ? (string)text : null;

    private List<T>? List<T>(string name) =>
        members.TryGetValue(name, out object? list) ? ((List<object>)list).ConvertAll(each => (T)each) : null;
}
