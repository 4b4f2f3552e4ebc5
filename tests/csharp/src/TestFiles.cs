// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Text;

namespace Heed.Tests;

/// <summary>Files for tests.</summary>
internal static class TestFiles
{
    /// <summary>A file with weights, inputs and PyTorch's output.</summary>
    internal static string Golden(string name) => Data(name + ".safetensors");

    /// <summary>Any file of tests/golden/data.</summary>
    internal static string Data(string name) =>
        Path.Combine(Environment.GetEnvironmentVariable("HEED_GOLDEN")!, name);

    /// <summary>Writes a .safetensors file with this header and data.</summary>
    internal static string Write(string file, string header, params byte[] data)
    {
        byte[] text = Encoding.UTF8.GetBytes(header);
        using var writer = new BinaryWriter(File.Create(file));
        writer.Write((long)text.Length);
        writer.Write(text);
        writer.Write(data);
        return file;
    }
}

/// <summary>A folder that is deleted after its test.</summary>
internal sealed class TestFolder : IDisposable
{
    private readonly DirectoryInfo folder = Directory.CreateTempSubdirectory("heed-tests");

    internal string Path => folder.FullName;

    internal string this[string file] => System.IO.Path.Combine(Path, file);

    public void Dispose() => folder.Delete(recursive: true);
}
