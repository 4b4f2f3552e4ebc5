// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;

namespace Heed;

/// <summary>The format that <see cref="Block.SaveParameters"/> and Java's saveParameters write. Numbers are big-endian.
/// A text is its number of bytes as two bytes, then "modified UTF-8", which encodes each UTF-16 unit by
/// itself.</summary>
/// <remarks><code>
/// file    int 0x48454544 "HEED", byte 1 the version, block, int CRC-32 of all before
/// block   text kind: "Linear" and so on for heed's own; shapes; bytes of a .safetensors file
///         "AbstractBlock": byte the class's version; shapes;
///             int count, for each parameter: text name, text type, shape, bytes of its elements, little-endian;
///             int count, for each block inside: text name, block
/// shapes  int count, -1 for none; shape
/// shape   byte rank, -1 for null; long each size
/// bytes   int count; the bytes
/// </code></remarks>
internal static class ParameterFile
{
    private const int Magic = 0x48454544;
    private const int Version = 1;
    private const int MaxRank = 8;
    private const string Composed = "AbstractBlock";

    internal static void Save(Block block, Stream stream)
    {
        // Takes all parameters before the first byte is written: a missing one is an error, after which the stream is
        // unchanged.
        using var taken = new Taken();
        Take(block, taken);
        var writer = new BigEndianWriter(stream);
        writer.WriteInt(Magic);
        writer.WriteByte(Version);
        WriteBlock(block, taken, writer);
        writer.WriteInt((int)writer.Crc);
        stream.Flush();
    }

    internal static void Load(Block block, NDManager manager, Stream stream)
    {
        manager.OpenContext();
        block.CheckNotDisposed();
        var reader = new BigEndianReader(stream);
        if (reader.ReadInt("the mark \"HEED\" at its beginning") != Magic)
        {
            throw new MalformedModelException("the stream is not what heed's SaveParameters writes");
        }
        Expect("version", reader.ReadByte("the version of its format"), Version);
        var staged = new List<IStaged>();
        try
        {
            ReadBlock(block, "the block", manager, reader, staged);
            int found = (int)reader.Crc;
            if (reader.ReadInt("the checksum at its end") != found)
            {
                throw new MalformedModelException("the parameters are damaged: their checksum is another");
            }
            foreach (IStaged each in staged)
            {
                each.Commit();
            }
        }
        finally
        {
            staged.ForEach(each => each.Dispose());
        }
    }

    private static void Take(Block block, Taken taken)
    {
        if (block is NativeBlock layer)
        {
            taken.Layers.Enqueue(layer.SavedBytes());
            return;
        }
        foreach (Pair<string, Parameter> parameter in block.DirectParameters)
        {
            taken.Arrays.Enqueue(parameter.Value.Array);
        }
        foreach (Pair<string, Block> child in block.Children)
        {
            Take(child.Value, taken);
        }
    }

    private static void WriteBlock(Block block, Taken taken, BigEndianWriter writer)
    {
        if (block is NativeBlock layer)
        {
            using NativeBytes bytes = taken.Layers.Dequeue();
            writer.WriteText(layer.Kind);
            WriteShapes(layer.ShapesOrNull, writer);
            writer.WriteBytes(bytes);
            return;
        }
        var composed = (AbstractBlock)block;
        writer.WriteText(Composed);
        writer.WriteByte(composed.Version);
        WriteShapes(composed.ShapesOrNull, writer);
        ParameterList parameters = composed.DirectParameters;
        writer.WriteInt(parameters.Count);
        foreach (Pair<string, Parameter> parameter in parameters)
        {
            NDArray array = taken.Arrays.Dequeue();
            using NativeBytes bytes = ElementsOf(array);
            writer.WriteText(parameter.Key);
            writer.WriteText(NameOf(array.DataType));
            WriteShape(array.Shape, writer);
            writer.WriteBytes(bytes);
        }
        BlockList children = composed.Children;
        writer.WriteInt(children.Count);
        foreach (Pair<string, Block> child in children)
        {
            writer.WriteText(child.Key);
            WriteBlock(child.Value, taken, writer);
        }
    }

    /// <summary>The name of the block in the exception for a stream that ends early.</summary>
    private static void ReadBlock(
        Block block, string name, NDManager manager, BigEndianReader reader, List<IStaged> staged)
    {
        string kind = reader.ReadText("the kind of " + name);
        if (block is NativeBlock layer)
        {
            Expect("block", kind, layer.Kind);
            Shape?[]? shapes = ReadShapes(reader, name);
            using NativeBytes bytes = reader.ReadBytes("the parameters of " + name);
            staged.Add(Checked(() => layer.Stage(manager, shapes, bytes)));
            return;
        }
        var composed = (AbstractBlock)block;
        Expect("block", kind, Composed);
        Expect("version of the block", reader.ReadByte("the version of " + name), (int)composed.Version);
        Shape?[]? inputShapes = ReadShapes(reader, name);
        staged.Add(new StagedShapes(composed, inputShapes));
        ParameterList parameters = composed.DirectParameters;
        Expect("number of parameters", reader.ReadInt("the number of parameters of " + name), parameters.Count);
        foreach (Pair<string, Parameter> parameter in parameters)
        {
            string expected = $"the parameter \"{parameter.Key}\"";
            Expect("parameter", reader.ReadText("the name of " + expected), parameter.Key);
            NDArray array = ReadArray(manager, reader, expected);
            var each = new StagedArray(parameter.Value, array);
            staged.Add(each);
            Checked(() =>
            {
                parameter.Value.CheckShape(array.Shape);
                return each;
            });
        }
        BlockList children = composed.Children;
        Expect("number of blocks inside", reader.ReadInt("the number of blocks inside " + name), children.Count);
        foreach (Pair<string, Block> child in children)
        {
            string expected = $"the block \"{child.Key}\"";
            Expect("block inside", reader.ReadText("the name of " + expected), child.Key);
            ReadBlock(child.Value, expected, manager, reader, staged);
        }
    }

    /// <summary>Turns heed's exception about the bytes into one about the file.</summary>
    private static T Checked<T>(Func<T> stage)
    {
        try
        {
            return stage();
        }
        catch (Exception error) when (error is ArgumentException or NotSupportedException or HeedException)
        {
            throw new MalformedModelException(error.Message, error);
        }
    }

    /// <summary>The bytes of an array's elements, in the machine's order.</summary>
    internal static unsafe NativeBytes ElementsOf(NDArray array)
    {
        NativeTensor tensor = array.Tensor;
        long numBytes = tensor.NumBytes();
        var bytes = new NativeBytes(numBytes);
        try
        {
            tensor.Read(bytes.Data, (ulong)numBytes);
            bytes.Fill(numBytes);
            return bytes;
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }

    private static unsafe NDArray ReadArray(NDManager manager, BigEndianReader reader, string name)
    {
        string type = reader.ReadText("the element type of " + name);
        if (!Enum.TryParse(type, ignoreCase: true, out DataType dataType) || NameOf(dataType) != type)
        {
            throw new MalformedModelException($"there is no element type {type}");
        }
        Shape shape = ReadShape(reader, name) ?? throw new MalformedModelException("a parameter has no shape");
        using NativeBytes bytes = reader.ReadBytes("the elements of " + name);
        ulong numBytes = (ulong)bytes.Length;
        byte* data = bytes.Data;
        CheckNumBytes(shape, dataType, bytes.Length);
        return Checked(
            () => manager.OutOfScope(manager.NewArray(shape, dataType, tensor => tensor.Write(data, numBytes))));
    }

    /// <summary>Checks the size that a shape claims, before memory is allocated for it.</summary>
    private static void CheckNumBytes(Shape shape, DataType dataType, long numBytes)
    {
        decimal expected = dataType.NumOfBytes();
        foreach (long dim in shape)
        {
            expected = dim == 0 ? 0 : Math.Min(expected * dim, long.MaxValue);
            if (dim == 0)
            {
                break;
            }
        }
        if (expected != numBytes)
        {
            throw new MalformedModelException($"a parameter of shape {shape} of {dataType} has {numBytes} bytes");
        }
    }

    internal static string NameOf(DataType dataType) => dataType.ToString().ToUpperInvariant();

    private static void WriteShapes(Shape?[]? shapes, BigEndianWriter writer)
    {
        writer.WriteInt(shapes?.Length ?? -1);
        foreach (Shape? shape in shapes ?? Array.Empty<Shape>())
        {
            WriteShape(shape, writer);
        }
    }

    private static Shape?[]? ReadShapes(BigEndianReader reader, string name)
    {
        int count = reader.ReadInt("the number of input shapes of " + name);
        if (count == -1)
        {
            return null;
        }
        BigEndianReader.CheckCount(count);
        var shapes = new List<Shape?>();
        for (int i = 0; i < count; i++)
        {
            shapes.Add(ReadShape(reader, $"input {i} of {name}"));
        }
        return shapes.ToArray();
    }

    private static void WriteShape(Shape? shape, BigEndianWriter writer)
    {
        writer.WriteByte(shape is null ? byte.MaxValue : (byte)shape.Dimension);
        foreach (long dim in shape ?? new Shape())
        {
            writer.WriteLong(dim);
        }
    }

    private static Shape? ReadShape(BigEndianReader reader, string name)
    {
        int rank = reader.ReadByte("the number of axes of " + name);
        if (rank == byte.MaxValue)
        {
            return null;
        }
        if (rank > MaxRank)
        {
            throw new MalformedModelException($"a shape has {rank} axes, expected 0 to {MaxRank}");
        }
        var dims = new long[rank];
        for (int axis = 0; axis < rank; axis++)
        {
            dims[axis] = reader.ReadLong($"the size of axis {axis} of {name}");
            if (dims[axis] < 0)
            {
                throw new MalformedModelException($"axis {axis} of a shape has the size {dims[axis]}");
            }
        }
        return new Shape(dims);
    }

    private static void Expect<T>(string what, T found, T expected)
    {
        if (!EqualityComparer<T>.Default.Equals(found, expected))
        {
            throw new MalformedModelException($"the stream has the {what} {found}, expected {expected}");
        }
    }

    /// <summary>Parameters that were read and checked, but not yet set in the block. Dispose frees them, unless they
    /// were committed.</summary>
    internal interface IStaged : IDisposable
    {
        void Commit();
    }

    /// <summary>The data to write, in order.</summary>
    private sealed class Taken : IDisposable
    {
        internal Queue<NativeBytes> Layers { get; } = new Queue<NativeBytes>();

        internal Queue<NDArray> Arrays { get; } = new Queue<NDArray>();

        public void Dispose()
        {
            while (Layers.Count > 0)
            {
                Layers.Dequeue().Dispose();
            }
        }
    }

    private sealed class StagedShapes : IStaged
    {
        private readonly AbstractBlock block;
        private readonly Shape?[]? shapes;

        internal StagedShapes(AbstractBlock block, Shape?[]? shapes)
        {
            this.block = block;
            this.shapes = shapes;
        }

        public void Commit() => block.SetInputShapes(shapes);

        public void Dispose()
        {
        }
    }

    internal sealed class StagedArray : IStaged
    {
        private readonly Parameter parameter;
        private NDArray? array;

        internal StagedArray(Parameter parameter, NDArray array)
        {
            this.parameter = parameter;
            this.array = array;
        }

        public void Commit()
        {
            parameter.ReleaseArray();
            parameter.SetArray(array!);
            array = null;
        }

        public void Dispose() => array?.Dispose();
    }
}
