// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>The cases of tests/bindings/cases, which the tests of Java run, too. SharedCasesTest of Java requires that each
/// of their functions and words is used.</summary>
public sealed class SharedCasesTests : IDisposable
{
    private readonly TestFolder folder = new();

    public static IEnumerable<object[]> Cases =>
        CaseFile.All.SelectMany(file => file.CasesFor("csharp").Select(name => new object[] { file.Name, name }));

    public void Dispose() => folder.Dispose();

    [Theory]
    [MemberData(nameof(Cases))]
    public void HaveTheirResults(string file, string name) =>
        new CaseRunner(CaseFile.All.Single(each => each.Name == file), folder).Run(name);

    /// <summary>Each line of mistakes.txt, as the only one of a case, fails.</summary>
    [Fact]
    public void MistakesInACaseFail()
    {
        string mistakes = Path.Combine(Environment.GetEnvironmentVariable("HEED_CASES")!, "..", "mistakes.txt");
        Assert.NotEmpty(File.ReadAllLines(mistakes));
        Assert.All(File.ReadLines(mistakes), line => Assert.ThrowsAny<Exception>(() => RunLine(line)));
    }

    [Fact]
    public void ACaseWithoutMistakesPasses()
    {
        RunLine("Shape(2).size is 2");
        RunLine("illegal \"-1\": manager.zeros(Shape(-1))");
    }

    private void RunLine(string line)
    {
        File.WriteAllText(folder["line.txt"], $"case one\n  {line}\n");
        new CaseRunner(new CaseFile(folder["line.txt"]), folder).Run("one");
    }
}
