// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text.RegularExpressions;

namespace Heed.Tests;

/// <summary>Runs a case of tests/bindings/cases: its lines, one after another.</summary>
internal sealed class CaseRunner
{
    /// <summary>What a call may throw, by the word that begins a line.</summary>
    internal static readonly Dictionary<string, Type> Errors = new()
    {
        ["illegal"] = typeof(ArgumentException),
        ["state"] = typeof(InvalidOperationException),
        ["closed"] = typeof(ObjectDisposedException),
        ["unsupported"] = typeof(NotSupportedException),
        ["index"] = typeof(ArgumentOutOfRangeException),
        ["memory"] = typeof(OutOfMemoryException),
        ["outside"] = typeof(ArgumentOutOfRangeException),
        ["corrupt"] = typeof(InvalidDataException),
        ["cut"] = typeof(EndOfStreamException),
        ["missing"] = typeof(ArgumentNullException),
        ["full"] = typeof(CacheFullException),
        ["fails"] = typeof(HeedException),
    };

    private readonly CaseFile file;
    private readonly TestFolder folder;
    private readonly CaseFunctions functions;
    private readonly Dictionary<string, object?> shared;
    private readonly Stack<IDisposable> made = new();
    private int numAssertions;

    internal CaseRunner(CaseFile file, TestFolder folder)
    {
        this.file = file;
        this.folder = folder;
        functions = new CaseFunctions(folder);
        NDManager manager = TestDevice.NewManager();
        made.Push(manager);
        shared = new()
        {
            ["manager"] = manager, ["ps"] = new ParameterStore(manager), ["null"] = null, ["true"] = true, ["false"] = false,
            ["nan"] = double.NaN, ["inf"] = double.PositiveInfinity,
        };
    }

    /// <summary>Runs the setup of the file and the case; a case that asserts nothing fails.</summary>
    internal void Run(string name)
    {
        try
        {
            Lines(file.Setup, shared);
            Lines(file.Cases[name], new(shared));
        }
        finally
        {
            while (made.TryPop(out IDisposable? each))
            {
                each.Dispose();
            }
        }
        CaseReader.Require(numAssertions > 0, "the case asserts nothing");
    }

    internal object Make(Type type, List<object?> arguments, Dictionary<string, object?> options)
    {
        object value = CaseCalls.Make(type, arguments, options);
        if (value is IDisposable disposable)
        {
            made.Push(disposable);
        }
        return value;
    }

    /// <summary>Calls a function of the file, or one of the runner's.</summary>
    internal object? Call(string name, List<object?> arguments, Dictionary<string, object?> options)
    {
        if (file.Functions.TryGetValue(name, out List<CaseLine>? body))
        {
            return Lines(body, Bound(file.Parameters[name], arguments, options));
        }
        CaseReader.Require(options.Count == 0, "options for " + name);
        return functions.Call(name, arguments);
    }

    private Dictionary<string, object?> Bound(string[] names, List<object?> arguments, Dictionary<string, object?> options)
    {
        var variables = new Dictionary<string, object?>(shared);
        bool takesOptions = names.Length > 0 && names[^1].EndsWith("...");
        int count = names.Length - (takesOptions ? 1 : 0);
        CaseReader.Require(count == arguments.Count, $"{arguments.Count} arguments for {count}");
        CaseReader.Require(takesOptions || options.Count == 0, "options for a function that takes none");
        for (int i = 0; i < count; i++)
        {
            variables[names[i]] = arguments[i];
        }
        if (takesOptions)
        {
            variables[names[count].Replace("...", string.Empty)] = options;
        }
        return variables;
    }

    private object? Lines(List<CaseLine> lines, Dictionary<string, object?> variables)
    {
        for (int i = 0; i < lines.Count;)
        {
            CaseLine line = lines[i++];
            List<CaseLine> inner = lines.Skip(i).TakeWhile(each => each.Indentation > line.Indentation).ToList();
            i += inner.Count;
            if (CaseFile.Only.IsMatch(line.Text))
            {
                continue;
            }
            try
            {
                var reader = new CaseReader(line.Text, this, variables);
                if (reader.Take("for"))
                {
                    Loop(reader, inner, variables);
                    continue;
                }
                if (reader.Take("if"))
                {
                    Lines((bool)reader.Expression()! ? inner : new(), variables);
                    continue;
                }
                CaseReader.Require(inner.Count == 0, "lines that belong to nothing");
                if (reader.Take("return"))
                {
                    return reader.Expression();
                }
                if (!reader.Take("java"))
                {
                    reader.Take("csharp");
                    Statement(reader, variables);
                }
            }
            catch (Exception error) when (error is not TargetInvocationException && !error.Message.StartsWith("at "))
            {
                throw new CaseMistakeException($"at {line.Place}: {error.Message}", error);
            }
        }
        return null;
    }

    private void Loop(CaseReader reader, List<CaseLine> body, Dictionary<string, object?> variables)
    {
        string name = reader.Next();
        reader.Expect("in");
        List<object?> values = CaseComparison.List(reader.Expression());
        CaseReader.Require(values.Count > 0, "a loop over nothing");
        foreach (object? value in values)
        {
            variables[name] = value;
            Lines(body, variables);
        }
    }

    private void Statement(CaseReader reader, Dictionary<string, object?> variables)
    {
        bool isName = reader.IsNext("(", 1) || reader.IsNext("=", 1) || reader.IsNext(".", 1);
        if (!isName && Errors.Keys.FirstOrDefault(reader.Take) is string kind)
        {
            Refusal(kind, reader, variables);
        }
        else if (reader.IsNext("=", 1))
        {
            string name = reader.Next();
            reader.Expect("=");
            variables[name] = reader.Expression();
        }
        else
        {
            object? found = reader.Expression();
            if (!reader.AtEnd)
            {
                Compare(reader, found);
            }
        }
        CaseReader.Require(reader.AtEnd, "the line goes on");
    }

    private void Compare(CaseReader reader, object? found)
    {
        numAssertions++;
        switch (reader.Next())
        {
            case "is":
                bool differs = reader.Take("not");
                bool isSame = reader.Take("same");
                object? wanted = reader.Expression();
                string? difference = !isSame ? CaseComparison.Difference(wanted, found)
                    : ReferenceEquals(wanted, found) ? null : "it is another object";
                CaseReader.Require(differs == (difference != null), difference ?? "it is equal");
                break;
            case "near":
                object? expected = reader.Expression();
                reader.Expect("within");
                CaseComparison.Near(expected, found, reader.Expression());
                break;
            case "contains":
                string words = (string)reader.Expression()!;
                CaseReader.Require(((string)found!).Contains(words, StringComparison.Ordinal), $"{found} has no {words}");
                break;
            default:
                throw new CaseMistakeException("an unknown comparison");
        }
    }

    /// <summary>The rest of a line: a status or none, words of the sentence or "exactly" and all of it, ":" and a call that
    /// throws it.</summary>
    private void Refusal(string kind, CaseReader reader, Dictionary<string, object?> variables)
    {
        string status = kind == "fails" ? reader.Next() : string.Empty;
        bool isWhole = reader.Take("exactly");
        var words = new List<string>();
        while (!reader.Take(":"))
        {
            words.Add((string)reader.Expression()!);
        }
        Exception? thrown = null;
        try
        {
            reader.Expression();
        }
        catch (TargetInvocationException error)
        {
            thrown = error.InnerException;
        }
        variables["thrown"] = thrown;
        numAssertions++;
        bool fits = Errors[kind].IsInstanceOfType(thrown) && (kind == "missing" || thrown is not ArgumentNullException);
        CaseReader.Require(fits, "thrown is " + thrown);
        CaseReader.Require(kind != "fails" || new CaseSymbol(status).Names(((HeedException)thrown!).Status), $"{thrown}");
        string message = kind == "missing" ? ((ArgumentNullException)thrown!).ParamName!
            : Regex.Replace(thrown!.Message, @"( \(Parameter|\r?\nObject name:) '[^']*'[).]$", string.Empty);
        foreach (string word in words)
        {
            bool has = isWhole || kind == "missing" ? message == word : message.Contains(word, StringComparison.Ordinal);
            CaseReader.Require(has, $"{message} has no {word}");
        }
        message = Regex.Replace(message.Replace(folder.Path, string.Empty), "\"[^\"]*\"", string.Empty);
        CaseReader.Require(!Regex.IsMatch(message, @"->|heed_|HEED_|NULL|\b(?!(?:bias_v|model_type)\b)[a-z]+_[a-z]+\b(?!\.)"), "words of C: " + message);
    }
}
