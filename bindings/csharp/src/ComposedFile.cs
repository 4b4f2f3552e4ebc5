// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace Heed;

/// <summary>The parameters of a composed block as a .safetensors file, by the names of
/// <see cref="Block.Parameters"/>.</summary>
internal sealed class ComposedFile
{
    private readonly string path;
    private readonly NDManager manager;

    /// <summary>The names in the file that are no parameter of the block's so far.</summary>
    private readonly List<string> rest;
    private readonly List<ParameterFile.IStaged> staged = new List<ParameterFile.IStaged>();

    private ComposedFile(string path, NDManager manager)
    {
        this.path = path;
        this.manager = manager;
        using Weights weights = Weights.Open(path);
        rest = weights.Names.ToList();
    }

    /// <summary>Writes to another file, which then takes the place of an existing one.</summary>
    internal static void Save(AbstractBlock block, string path)
    {
        if (NativeText.ToNative(path, nameof(path)).Length == 1)
        {
            throw new ArgumentException("path is empty, expected the path of a file", nameof(path));
        }
        var writer = new SafetensorsWriter(
            block.Parameters.Select(each => SafetensorsWriter.Entry.Of(each.Key, each.Value)));
        string written = $"{path}.{Guid.NewGuid()}";
        try
        {
            try
            {
                using (FileStream stream = File.Create(written))
                {
                    writer.Write(stream);
                    stream.Flush(flushToDisk: true);
                }
                if (File.Exists(path))
                {
                    File.Replace(written, path, null);
                }
                else
                {
                    File.Move(written, path);
                }
            }
            finally
            {
                File.Delete(written);
            }
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            throw new HeedException(Status.IO, $"cannot write \"{path}\": {error.Message}");
        }
    }

    internal static void Load(AbstractBlock block, NDManager manager, string path)
    {
        manager.OpenContext();
        var file = new ComposedFile(path, manager);
        try
        {
            file.Stage(block, string.Empty);
            if (file.rest.Count > 0)
            {
                throw new ArgumentException(
                    $"\"{path}\" has \"{file.rest[0]}\", which is no parameter of the block: expected the file of a block "
                    + "like this one",
                    nameof(path));
            }
            file.staged.ForEach(each => each.Commit());
        }
        finally
        {
            file.staged.ForEach(each => each.Dispose());
        }
    }

    /// <summary>Reads and checks the parameters of a block whose names in the file begin with this.</summary>
    private void Stage(Block block, string beginning)
    {
        if (block is NativeBlock layer)
        {
            Stage(layer, beginning);
            return;
        }
        foreach (Pair<string, Parameter> each in block.DirectParameters)
        {
            NDArray array = Read(manager, beginning + each.Key);
            staged.Add(new ParameterFile.StagedArray(each.Value, array));
            each.Value.CheckShape(array.Shape);
        }
        foreach (Pair<string, Block> child in block.Children)
        {
            Stage(child.Value, $"{beginning}{child.Key}_");
        }
    }

    private unsafe void Stage(NativeBlock block, string beginning)
    {
        ParameterList parameters = block.DirectParameters;
        if (parameters.IsEmpty)
        {
            return;
        }
        using NDManager reading = manager.NewSubManager();
        var writer = new SafetensorsWriter(
            parameters.Keys.Select(name => SafetensorsWriter.Entry.Of(name, Read(reading, beginning + name))).ToList());
        using var bytes = new NativeBytes(writer.NumBytes);
        using (var stream = new UnmanagedMemoryStream(bytes.Data, 0, writer.NumBytes, FileAccess.Write))
        {
            writer.Write(stream);
        }
        bytes.Fill(writer.NumBytes);
        staged.Add(block.Stage(manager, block.ShapesOrNull, bytes));
    }

    private NDArray Read(NDManager owner, string name)
    {
        StoppableCall.Check();
        return rest.Remove(name)
            ? owner.Load(path, name)
            : throw new HeedException(Status.NotFound, $"\"{path}\" has no array \"{name}\", a parameter of the block");
    }
}
