// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;

namespace Heed.Tests;

/// <summary>A line of a case, without its indentation; open brackets and words that want more continue it on the next
/// one.</summary>
internal sealed record CaseLine(string Place, int Indentation, string Text);

/// <summary>A file of tests/bindings/cases, cut into its parts. docs/testing.md describes the form.</summary>
internal sealed class CaseFile
{
    /// <summary>A line that begins a case or a file, with the reason.</summary>
    internal static readonly Regex Only = new("^only (java|csharp|cpu): .+$");

    internal CaseFile(string path)
    {
        Name = Path.GetFileName(path);
        Read(path);
    }

    internal static IEnumerable<CaseFile> All =>
        Directory.GetFiles(Folder).Order(StringComparer.Ordinal).Select(path => new CaseFile(path));

    internal string Name { get; }

    /// <summary>What runs before each case.</summary>
    internal List<CaseLine> Setup { get; } = new();

    /// <summary>The functions and their parameters by name.</summary>
    internal Dictionary<string, List<CaseLine>> Functions { get; } = new();

    internal Dictionary<string, string[]> Parameters { get; } = new();

    internal Dictionary<string, List<CaseLine>> Cases { get; } = new();

    /// <summary>The cases that this language and this device run: "only java: reason" may begin a case, "only cpu: reason"
    /// a file, too.</summary>
    internal IEnumerable<string> CasesFor(string language) =>
        Cases.Where(each => Runs(each.Value, language) && Runs(Setup, language)).Select(each => each.Key);

    private static string Folder => Environment.GetEnvironmentVariable("HEED_CASES")!;

    private static bool Runs(List<CaseLine> lines, string language)
    {
        Match only = Only.Match(lines.Count == 0 ? string.Empty : lines[0].Text);
        string wanted = only.Groups[1].Value;
        return !only.Success || (wanted == "cpu" ? TestDevice.IsCpu : wanted == language);
    }

    private static List<CaseLine> Begin(Dictionary<string, List<CaseLine>> parts, string name)
    {
        var body = new List<CaseLine>();
        parts.Add(name, body);
        return body;
    }

    private void Read(string path)
    {
        List<CaseLine> body = Setup;
        foreach (CaseLine line in Lines(path))
        {
            if (line.Text.StartsWith("include "))
            {
                Read(Path.Combine(Folder, "..", "scenes", line.Text.Substring(8) + ".txt"));
                continue;
            }
            if (line.Indentation == 0)
            {
                body = line.Text.StartsWith("define ") ? BeginFunction(line.Text.Substring(7))
                    : line.Text.StartsWith("case ") ? Begin(Cases, line.Text.Substring(5)) : Setup;
            }
            if (line.Indentation > 0 || body == Setup)
            {
                body.Add(line);
            }
        }
    }

    private List<CaseLine> BeginFunction(string head)
    {
        string[] names = head.Split(new[] { '(', ')', ',', ' ' }, StringSplitOptions.RemoveEmptyEntries);
        Parameters.Add(names[0], names[1..]);
        return Begin(Functions, names[0]);
    }

    private IEnumerable<CaseLine> Lines(string path)
    {
        CaseLine? last = null;
        int number = 0;
        int open = 0;
        bool isOpen = false;
        foreach (string text in File.ReadLines(path))
        {
            number++;
            string trimmed = text.Trim();
            if (trimmed.Length == 0 || trimmed.StartsWith('#'))
            {
                continue;
            }
            last = isOpen ? last! with { Text = last.Text + " " + trimmed }
                : new CaseLine($"{Path.GetFileName(path)}:{number}", text.IndexOf(trimmed[0]), trimmed);
            string code = Regex.Replace(trimmed, @"""([^""\\]|\\.)*""", string.Empty);
            open += code.Count(c => c is '(' or '[') - code.Count(c => c is ')' or ']');
            isOpen = open > 0 || Regex.IsMatch(trimmed, "(:| is| near| exactly| \\+)$");
            if (!isOpen)
            {
                yield return last;
            }
        }
    }
}
