// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.IO;
using Xunit;

namespace Heed.Tests;

/// <summary>A process loads the library once, so each case is a process of its own.</summary>
public class LoadingTests
{
    private const string Variable = "HEED_NATIVE_PATH";
    private static readonly string Folder = Environment.GetEnvironmentVariable(Variable)!;

    [Fact]
    public void TakesAFolderOrAFile()
    {
        Assert.Equal("(2)\n(2)\n", Run(Folder));
        Assert.Equal("(2)\n(2)\n", Run(Path.Combine(Folder, "libheed_csharp.so")));
    }

    [Fact]
    public void LooksWhereDotnetLooksWithoutThePath()
    {
        string[] lines = Run(null).Split('\n');
        Assert.Contains(Variable + ", which is not set", lines[0]);
        Assert.Contains("heed_csharp", lines[0]);
        Assert.Equal(lines[0], lines[1]);
        Assert.Equal("(2)\n(2)\n", Run(null, Folder));
    }

    [Fact]
    public void TriesNothingElseThanThePath()
    {
        using var folder = new TestFolder();
        string[] lines = Run(folder.Path, Folder).Split('\n');
        Assert.Contains($"{Variable} is {folder.Path}", lines[0]);
        Assert.Contains(folder["libheed_csharp.so"], lines[0]);
        Assert.Equal(lines[0], lines[1]);

        File.WriteAllText(folder["libheed_csharp.so"], "not a library");
        Assert.Contains("could not be loaded", Run(folder.Path));
    }

    private static string Run(string? path, string? libraryPath = null)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!) { RedirectStandardOutput = true };
        start.ArgumentList.Add("exec");
        start.ArgumentList.Add(typeof(LoadingTests).Assembly.Location);
        start.Environment[Variable] = path;
        start.Environment["LD_LIBRARY_PATH"] = libraryPath;
        using Process process = Process.Start(start)!;
        string output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        Assert.Equal(0, process.ExitCode);
        return output;
    }
}
