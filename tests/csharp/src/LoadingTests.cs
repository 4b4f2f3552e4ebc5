// SPDX-License-Identifier: Apache-2.0
using System;
using System.Diagnostics;
using System.IO;
using Xunit;

namespace Heed.Tests;

/// <summary>A process loads the library only once, so each case is a new process, which tries twice and prints the
/// outcome.</summary>
public class LoadingTests
{
    private const string Variable = "HEED_NATIVE_PATH";
    private const string Wrapper = "libheed_csharp.so";
    private const string Library = "libheed.so.0";
    private const string Loaded = "(2)\n(2)\n";
    private static readonly string Natives = Environment.GetEnvironmentVariable(Variable)!;
    private static readonly string Program = Path.GetDirectoryName(typeof(LoadingTests).Assembly.Location)!;

    [Fact]
    public void ThePathIsAFolderOrAFile()
    {
        Assert.Equal(Loaded, Run(Program, Natives));
        Assert.Equal(Loaded, Run(Program, Path.Combine(Natives, Wrapper)));
        Assert.Equal(Loaded, Run(Program, Path.GetRelativePath(Directory.GetCurrentDirectory(), Natives)));
    }

    [Fact]
    public void NothingButThePathIsTried()
    {
        using var folder = new TestFolder();
        string error = Failure(Run(Program, folder.Path, Natives));
        Assert.Contains($"{Variable}, which is {folder.Path} and leaves nothing else to try; {folder[Wrapper]}: ", error);
        Assert.Contains("No such file", error);

        string nowhere = Path.Combine(folder.Path, "nowhere.so");
        Assert.Contains($"; {nowhere}: ", Failure(Run(Program, nowhere, Natives)));
    }

    /// <summary>Loading such a file would end the process.</summary>
    [Fact]
    public void ATruncatedFileIsNamed()
    {
        using var folder = new TestFolder();
        CopyNatives(folder);
        Assert.Equal(Loaded, Run(Program, folder.Path));
        foreach (string file in new[] { Wrapper, Library })
        {
            byte[] whole = File.ReadAllBytes(folder[file]);
            foreach (int length in new[] { 0, 1, 63, 64, 100, 700, 5000, whole.Length / 2, whole.Length - 1 })
            {
                File.WriteAllBytes(folder[file], whole.AsSpan(0, length).ToArray());
                Assert.Contains(folder[file], Failure(Run(Program, folder.Path, Natives)));
            }
            File.WriteAllText(folder[file], new string('x', 5000));
            Assert.Contains($"{folder[file]}: invalid ELF header", Failure(Run(Program, folder.Path, Natives)));
            File.WriteAllBytes(folder[file], whole);
        }
    }

    [Fact]
    public void AMissingLibraryBesideTheWrapperIsNamed()
    {
        using var folder = new TestFolder();
        CopyNatives(folder);
        File.Delete(folder[Library]);
        Assert.Contains($"{Library}: cannot open shared object file", Failure(Run(Program, folder.Path)));
    }

    [Fact]
    public void AnotherLibraryIsRefused()
    {
        using var folder = new TestFolder();
        File.Copy(Path.Combine(Natives, Library), folder[Wrapper]);
        Assert.Contains("'heed_csharp'", Failure(Run(Program, folder.Path)));
    }

    [Fact]
    public void AnotherVersionIsRefused()
    {
        // LD_PRELOAD cannot have a path with a space, which a build folder may have.
        using var folder = new TestFolder();
        string other = folder["libother.so"];
        File.Copy(Environment.GetEnvironmentVariable("HEED_OTHER_VERSION")!, other);
        string version = typeof(NDManager).Assembly.GetName().Version!.ToString(3);
        string expected = $"version 99.1.2 ({Path.Combine(Natives, Wrapper)}), but Heed.dll is of version {version}";
        string error = Failure(Run(Program, Natives, null, other));
        Assert.Contains($"; {Path.Combine(Natives, Wrapper)}: {expected}", error);
        Assert.Contains(expected, Failure(Run(Program, null, Natives, other)));
    }

    [Fact]
    public void WithoutThePathAllThatWasTriedIsNamed()
    {
        string error = Failure(Run(Program, null));
        Assert.Contains($"{Variable}, which is not set; ", error);
        Assert.Contains($"; {Path.Combine(Program, Wrapper)}, which is not there; ", error);
        Assert.Contains("(LD_LIBRARY_PATH, the system's folders): ", error);
        Assert.Contains("heed_csharp", error);
        Assert.Equal(error, Failure(Run(Program, "")));
        Assert.Equal(Loaded, Run(Program, null, Natives));
    }

    /// <summary>A file in the program's folder is used instead of the system's, which is not tried if it
    /// fails.</summary>
    [Fact]
    public void TheProgramsFolderDecides()
    {
        using var folder = new TestFolder();
        CopyProgram(folder);
        CopyNatives(folder);
        Assert.Equal(Loaded, Run(folder.Path, null));
        File.WriteAllText(folder[Wrapper], "not a library");
        string error = Failure(Run(folder.Path, null, Natives));
        Assert.Contains($"{Variable}, which is not set; ", error);
        Assert.Contains($"; {folder[Wrapper]}: ", error);
        Assert.Contains("file too short", error);
    }

    /// <summary>Heed.dll for .NET Standard cannot prevent .NET from using the program's folder, but it reports
    /// it.</summary>
    [Fact]
    public void ThePathGoesBeforeTheProgramsFolder()
    {
        using var folder = new TestFolder();
        CopyProgram(folder);
        File.WriteAllText(folder[Wrapper], "not a library");
        Assert.Equal(Loaded, Run(folder.Path, Natives));

        CopyNatives(folder);
        string output = Run(folder.Path, Natives);
        if (output != Loaded)
        {
            Assert.Contains($"{Path.Combine(Natives, Wrapper)}, but this .NET takes {folder[Wrapper]}", Failure(output));
        }
    }

    private static void CopyNatives(TestFolder folder)
    {
        File.Copy(Path.Combine(Natives, Wrapper), folder[Wrapper], overwrite: true);
        File.Copy(Path.Combine(Natives, Library), folder[Library], overwrite: true);
    }

    private static void CopyProgram(TestFolder folder)
    {
        foreach (string file in Directory.GetFiles(Program, "Heed*"))
        {
            if (!file.EndsWith(".deps.json", StringComparison.Ordinal))
            {
                File.Copy(file, folder[Path.GetFileName(file)]);
            }
        }
    }

    /// <summary>The error message, which both attempts must have printed.</summary>
    private static string Failure(string output)
    {
        string[] lines = output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(2, lines.Length);
        Assert.StartsWith("heed's native library could not be loaded; tried: ", lines[0]);
        Assert.Equal(lines[0], lines[1]);
        return lines[0];
    }

    private static string Run(string program, string? path, string? libraryPath = null, string? preload = null)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!) { RedirectStandardOutput = true };
        start.ArgumentList.Add("exec");
        start.ArgumentList.Add(Path.Combine(program, typeof(LoadingTests).Assembly.GetName().Name + ".dll"));
        start.Environment[Variable] = path;
        start.Environment["LD_LIBRARY_PATH"] = libraryPath;
        start.Environment["LD_PRELOAD"] = preload;
        using Process process = Process.Start(start)!;
        string output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        Assert.Equal(0, process.ExitCode);
        return output;
    }
}
