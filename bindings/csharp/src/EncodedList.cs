// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;

namespace Heed;

/// <summary>The format of <see cref="NDList.Encode()"/>, which is DJL's. Numbers are big-endian, texts as
/// <see cref="BigEndianWriter"/> writes them.</summary>
/// <remarks>
/// <code>
/// list     int count, for each array:
/// array    text "NDAR"; int version; from version 2: byte 1 and text name, or byte 0;
///          text "DENSE"; text type; shape as Shape.GetEncoded;
///          from version 3: byte '&lt;' or '&gt;', the elements' order;
///          int count of bytes; the elements' bytes
/// </code>
/// </remarks>
internal static class EncodedList
{
    private const string Magic = "NDAR";
    private const int Version = 3;
    private const string Dense = "DENSE";
    private const int MaxRank = 8;
    private const int MaxShown = 20;

    internal static void Write(NDList list, Stream stream)
    {
        // Checked first, so that nothing is written if an array is missing.
        NDArray[] arrays = Enumerable.Range(0, list.Count).Select(list.OpenArray).ToArray();
        var writer = new BigEndianWriter(stream);
        writer.WriteInt(arrays.Length);
        foreach (NDArray array in arrays)
        {
            Write(array, writer, stream);
        }
        stream.Flush();
    }

    /// <summary>Reads a list, and nothing that follows it. If that fails, the arrays that were made are
    /// disposed.</summary>
    internal static NDList Read(NDManager manager, Stream stream)
    {
        manager.OpenContext();
        var reader = new BigEndianReader(stream);
        var list = new NDList();
        try
        {
            int count = reader.ReadInt("the number of arrays");
            BigEndianReader.CheckCount(count);
            while (list.Count < count)
            {
                list.Add(ReadArray(manager, reader, $"array {list.Count}"));
            }
            return list;
        }
        catch (MalformedModelException error)
        {
            list.Dispose();
            throw new InvalidDataException(error.Message, error);
        }
        catch
        {
            list.Dispose();
            throw;
        }
    }

    private static void Write(NDArray array, BigEndianWriter writer, Stream stream)
    {
        long numBytes = array.Size * array.DataType.NumOfBytes();
        if (numBytes > int.MaxValue)
        {
            throw new InvalidOperationException(
                $"the array has {numBytes} bytes, more than the {int.MaxValue} that the format can count");
        }
        using NativeBytes elements = ParameterFile.ElementsOf(array);
        byte[] shape = array.Shape.GetEncoded();
        writer.WriteText(Magic);
        writer.WriteInt(Version);
        writer.WriteByte((byte)(array.Name is null ? 0 : 1));
        if (array.Name is not null)
        {
            writer.WriteText(array.Name);
        }
        writer.WriteText(Dense);
        writer.WriteText(ParameterFile.NameOf(array.DataType));
        stream.Write(shape, 0, shape.Length);
        writer.WriteByte((byte)(BitConverter.IsLittleEndian ? '<' : '>'));
        writer.WriteBytes(elements);
    }

    private static unsafe NDArray ReadArray(NDManager manager, BigEndianReader reader, string array)
    {
        if (reader.ReadText("the mark of " + array) != Magic)
        {
            throw new InvalidDataException($"the stream is not what Encode writes: {array} does not begin with "
                + $"\"{Magic}\"; NDManager.Load reads .npy and .safetensors files");
        }
        int version = reader.ReadInt("the version of " + array);
        if (version is < 1 or > Version)
        {
            throw new NotSupportedException($"{array} is of version {version}, expected 1 to {Version}");
        }
        bool isNamed = version > 1 && reader.ReadByte("the mark of the name of " + array) == 1;
        string? name = isNamed ? reader.ReadText("the name of " + array) : null;
        string format = reader.ReadText("the format of " + array);
        if (format != Dense)
        {
            throw new NotSupportedException($"{array} has the format \"{Shortened(format)}\", expected \"{Dense}\"");
        }
        DataType type = TypeOf(reader.ReadText("the type of " + array), array);
        Shape shape = ReadShape(reader, array);
        bool isLittleEndian = version > 2 ? ReadOrder(reader, array) : BitConverter.IsLittleEndian;
        using NativeBytes bytes = reader.ReadBytes("the elements of " + array);
        CheckSize(bytes.Length, type, shape, array);
        var elements = new Span<byte>(bytes.Data, (int)bytes.Length);
        for (int i = 0; isLittleEndian != BitConverter.IsLittleEndian && i < elements.Length; i += type.NumOfBytes())
        {
            elements.Slice(i, type.NumOfBytes()).Reverse();
        }
        try
        {
            NDArray made = manager.Create<byte>(elements, shape, type);
            made.Name = name;
            return made;
        }
        catch (ArgumentException error)
        {
            // Sizes that no array can have, although another size is 0.
            throw new InvalidDataException($"{array} has the shape {shape}: {error.Message}", error);
        }
    }

    private static DataType TypeOf(string name, string array)
    {
        // Enum.TryParse also accepts numbers.
        bool isKnown = Enum.TryParse(name, ignoreCase: true, out DataType type) && ParameterFile.NameOf(type) == name
            && (type.IsFloating() || type.IsInteger() || type.IsBoolean());
        return isKnown ? type : throw new NotSupportedException(
            $"{array} has elements of the type \"{Shortened(name)}\", expected one of those of DataType");
    }

    private static Shape ReadShape(BigEndianReader reader, string array)
    {
        int rank = reader.ReadInt("the number of axes of " + array);
        if (rank is < 0 or > MaxRank)
        {
            throw new InvalidDataException($"{array} has {rank} axes, expected 0 to {MaxRank}");
        }
        var dims = new long[rank];
        for (int axis = 0; axis < rank; axis++)
        {
            dims[axis] = reader.ReadLong("the shape of " + array);
            if (dims[axis] < 0)
            {
                throw new InvalidDataException(
                    $"axis {axis} of {array} has the size {dims[axis]}, expected 0 or more");
            }
        }
        int layouts = reader.ReadInt("the number of layouts of " + array);
        if (layouts != rank)
        {
            throw new InvalidDataException($"{array} has layouts for {layouts} axes, expected {rank}");
        }
        for (int i = 0; i < layouts * sizeof(char); i++)
        {
            reader.ReadByte("the layouts of " + array);
        }
        return new Shape(dims);
    }

    /// <summary>Whether the elements are little-endian.</summary>
    private static bool ReadOrder(BigEndianReader reader, string array)
    {
        int order = reader.ReadByte("the byte order of " + array);
        return order is '<' or '>' ? order == '<' : throw new InvalidDataException(
            $"{array} has the byte order {order}, expected {(int)'<'} for little-endian or {(int)'>'} for big-endian");
    }

    private static void CheckSize(long numBytes, DataType type, Shape shape, string array)
    {
        if (numBytes % type.NumOfBytes() != 0 || !shape.Holds(numBytes / type.NumOfBytes()))
        {
            throw new InvalidDataException($"{array} has {numBytes} bytes of elements, which do not fit "
                + $"{ParameterFile.NameOf(type)} and the shape {shape}");
        }
    }

    /// <summary>A text of unknown content, shortened for a message.</summary>
    private static string Shortened(string text)
    {
        string start = new string(text.Take(MaxShown).Select(unit => unit is >= ' ' and <= '~' ? unit : '?').ToArray());
        return start.Length < text.Length ? start + "..." : start;
    }
}
