// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text.RegularExpressions;

namespace Heed.Tests;

/// <summary>Computes the expressions of a line of a case, from left to right.</summary>
internal sealed class CaseReader
{
    private static readonly Regex Token = new(
        @"\G\s*(\d+(?:\.\d+)?(?:[eE]-?\d+)?|""(?:[^""\\]|\\.)*""|[A-Za-z_]\w*|\.\.\.|[-+*/%()\[\],.:=])");

    private readonly List<string> tokens = new();
    private readonly CaseRunner runner;
    private readonly Dictionary<string, object?> variables;
    private int at;

    internal CaseReader(string text, CaseRunner runner, Dictionary<string, object?> variables)
    {
        this.runner = runner;
        this.variables = variables;
        for (int end = 0; end < text.Length;)
        {
            Match match = Token.Match(text, end);
            Require(match.Success, "cannot read " + text.Substring(end));
            tokens.Add(match.Groups[1].Value);
            end += match.Length;
        }
    }

    internal bool AtEnd => at == tokens.Count;

    internal static void Require(bool holds, string what)
    {
        if (!holds)
        {
            throw new CaseMistakeException(what);
        }
    }

    internal string Next()
    {
        Require(!AtEnd, "the line ends too early");
        return tokens[at++];
    }

    internal bool IsNext(string token, int ahead = 0) => at + ahead < tokens.Count && tokens[at + ahead] == token;

    internal bool Take(string token)
    {
        bool found = IsNext(token);
        at += found ? 1 : 0;
        return found;
    }

    internal void Expect(string token) =>
        Require(Take(token), $"expected {token} before {string.Join(" ", tokens.Skip(at))}");

    /// <summary>A text literal, in C#'s words: names stand between backquotes.</summary>
    private string Text()
    {
        string token = Next();
        Require(token[0] == '"', "expected a text, not " + token);
        string text = Regex.Replace(token[1..^1], @"\\(u[0-9a-fA-F]{4}|.)", match => match.Groups[1].Value switch
        {
            "n" => "\n",
            "0" => "\0",
            { Length: > 1 } code => ((char)int.Parse(code[1..], NumberStyles.HexNumber)).ToString(),
            string other => other,
        });
        return Regex.Replace(text, "`([^`]*)`", match => Regex.Replace(match.Groups[1].Value, @"\w+", word => Name(word.Value)));
    }

    internal object? Expression()
    {
        object? left = Product();
        while (IsNext("+") || IsNext("-"))
        {
            left = Arithmetic(Next(), left, Product());
        }
        return left;
    }

    /// <summary>A name of Java's in C#.</summary>
    private static string Name(string java) => char.IsLower(java[0]) ? char.ToUpperInvariant(java[0]) + java[1..]
        : java.ToUpperInvariant() != java ? java
        : typeof(NDArray).Assembly.GetExportedTypes().Where(type => type.IsEnum).SelectMany(Enum.GetNames).Distinct()
            .FirstOrDefault(name => CaseArguments.Plain(name) == CaseArguments.Plain(java)) ?? java;

    private static object Arithmetic(string sign, object? left, object? right)
    {
        if (left is string text)
        {
            return text + right;
        }
        if (left is long or int && right is long or int && sign != "/")
        {
            (long x, long y) = (Convert.ToInt64(left), Convert.ToInt64(right));
            return sign == "+" ? x + y : sign == "-" ? x - y : sign == "*" ? x * y : x % y;
        }
        double a = Convert.ToDouble(left);
        double b = Convert.ToDouble(right);
        return sign == "+" ? a + b : sign == "*" ? a * b : sign == "/" ? a / b : a == 0 ? -b : a - b;
    }

    private object? Product()
    {
        object? left = Unary();
        while (IsNext("*") || IsNext("/") || IsNext("%"))
        {
            left = Arithmetic(Next(), left, Unary());
        }
        return left;
    }

    private object? Unary() => Take("-") ? Arithmetic("-", 0L, Unary()) : Member(Primary());

    /// <summary>What follows a value: members of it that are read, called or set, and elements.</summary>
    private object? Member(object? value)
    {
        while (IsNext(".") || IsNext("["))
        {
            Require(value != null, "null has no members");
            if (Take("["))
            {
                value = CaseCalls.Element(value!, Arguments("]", new()));
                continue;
            }
            Expect(".");
            string name = Next();
            if (Take("="))
            {
                CaseCalls.Set(value!, name, Expression());
                return null;
            }
            var options = new Dictionary<string, object?>();
            value = CaseCalls.Call(value!, name, Take("(") ? Arguments(")", options) : new());
            CaseCalls.SetAll(value!, options);
        }
        return value;
    }

    private List<object?> Arguments(string end, Dictionary<string, object?> options)
    {
        var arguments = new List<object?>();
        while (!Take(end))
        {
            if (IsNext(":", 1))
            {
                string name = Next();
                Expect(":");
                options[name] = Expression();
            }
            else if (IsNext("...", 1))
            {
                foreach ((string name, object? value) in (Dictionary<string, object?>)variables[Next()]!)
                {
                    options[name] = value;
                }
                Expect("...");
            }
            else
            {
                arguments.Add(Expression());
            }
            if (!IsNext(end))
            {
                Expect(",");
            }
        }
        return arguments;
    }

    /// <summary>Where "for" stands before the bracket that closes this one, -1 if it does not.</summary>
    private int ComprehensionFor()
    {
        int open = 1;
        for (int i = at; i < tokens.Count && open > 0; i++)
        {
            if (tokens[i] == "for" && open == 1)
            {
                return i;
            }
            open += tokens[i] is "[" or "(" ? 1 : tokens[i] is "]" or ")" ? -1 : 0;
        }
        return -1;
    }

    /// <summary>[expression for name in list]: the expression for each of its values.</summary>
    private List<object?> Comprehension(int forAt)
    {
        int begin = at;
        at = forAt + 1;
        string name = Next();
        Expect("in");
        List<object?> values = CaseComparison.List(Expression());
        Expect("]");
        int end = at;
        var elements = new List<object?>();
        foreach (object? value in values)
        {
            at = begin;
            variables[name] = value;
            elements.Add(Expression());
        }
        at = end;
        return elements;
    }

    private object? Primary()
    {
        if (Take("["))
        {
            int forAt = ComprehensionFor();
            return forAt >= 0 ? Comprehension(forAt) : Arguments("]", new());
        }
        if (!AtEnd && tokens[at][0] == '"')
        {
            return Text();
        }
        string token = Next();
        if (token == "(")
        {
            object? value = Expression();
            Expect(")");
            return value;
        }
        if (char.IsDigit(token[0]))
        {
            return token.All(char.IsDigit) ? (object)long.Parse(token) : double.Parse(token, CultureInfo.InvariantCulture);
        }
        Type? type = CaseCalls.TypeOf(token) ?? CaseCalls.TypeOf(token + "Options");
        if (Take("("))
        {
            var options = new Dictionary<string, object?>();
            List<object?> arguments = Arguments(")", options);
            return type != null ? runner.Make(type, arguments, options) : runner.Call(token, arguments, options);
        }
        if (variables.TryGetValue(token, out object? variable))
        {
            return variable;
        }
        Require(type != null || Regex.IsMatch(token, "^[A-Z][A-Z0-9_]*$"), "nothing has the name " + token);
        return type ?? (object)new CaseSymbol(token);
    }
}
