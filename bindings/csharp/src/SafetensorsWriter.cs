// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Text;

namespace Heed;

/// <summary>Named arrays as the bytes of a .safetensors file: a number of 8 bytes, as long a header of JSON, the
/// elements. Those with larger elements are first, so that elements are aligned.</summary>
internal sealed class SafetensorsWriter
{
    private const int Alignment = 8;

    private readonly Entry[] entries;
    private readonly byte[] header;

    internal SafetensorsWriter(IEnumerable<Entry> entries)
    {
        this.entries = entries.OrderBy(each => -each.DataType.NumOfBytes())
            .ThenBy(each => each.Name, StringComparer.Ordinal)
            .ToArray();
        header = Header();
    }

    internal long NumBytes => header.Length + entries.Sum(each => each.NumBytes);

    internal void Write(Stream stream)
    {
        stream.Write(header, 0, header.Length);
        foreach (Entry each in entries)
        {
            each.Write(stream);
        }
    }

    private static string Quoted(string name)
    {
        var text = new StringBuilder("\"");
        foreach (char each in name)
        {
            if (each < ' ')
            {
                text.Append("\\u").Append(((int)each).ToString("x4", null));
            }
            else
            {
                text.Append(each is '"' or '\\' ? "\\" : string.Empty).Append(each);
            }
        }
        return text.Append('"').ToString();
    }

    private static string NameOf(DataType type) => type switch
    {
        DataType.BFloat16 => "BF16",
        DataType.Boolean => "BOOL",
        DataType.UInt8 => "U8",
        _ => $"{(type.IsFloating() ? "F" : "I")}{8 * type.NumOfBytes()}",
    };

    private byte[] Header()
    {
        // The first is what Hugging Face's loaders ask for.
        var described = new List<string> { "\"__metadata__\":{\"format\":\"pt\"}" };
        long begin = 0;
        foreach (Entry each in entries)
        {
            long end = begin + each.NumBytes;
            string dims = string.Join(",", each.Shape.Select(dim => $"{dim}"));
            described.Add(
                $"{Quoted(each.Name)}:{{\"dtype\":\"{NameOf(each.DataType)}\",\"shape\":[{dims}],"
                + $"\"data_offsets\":[{begin},{end}]}}");
            begin = end;
        }
        byte[] text = Encoding.UTF8.GetBytes("{" + string.Join(",", described) + "}");
        int length = (text.Length + Alignment - 1) / Alignment * Alignment;
        byte[] made = Enumerable.Repeat((byte)' ', Alignment + length).ToArray();
        for (int i = 0; i < Alignment; i++)
        {
            made[i] = (byte)((long)length >> (8 * i));
        }
        text.CopyTo(made, Alignment);
        return made;
    }

    /// <summary>An array of the file, whose values are taken when they are written.</summary>
    internal sealed class Entry
    {
        private readonly Func<NDArray> values;
        private readonly bool isSnapshot;

        private Entry(string name, Shape shape, DataType dataType, Func<NDArray> values, bool isSnapshot)
        {
            Name = name;
            Shape = shape;
            DataType = dataType;
            this.values = values;
            this.isSnapshot = isSnapshot;
        }

        internal string Name { get; }

        internal Shape Shape { get; }

        internal DataType DataType { get; }

        internal long NumBytes => Shape.Size * DataType.NumOfBytes();

        /// <summary>An array, which must stay open.</summary>
        internal static Entry Of(string name, NDArray array) =>
            new(name, array.Shape, array.DataType, () => array, isSnapshot: false);

        /// <summary>A parameter. Of heed's own, snapshots are taken one at a time, since each may take memory of its
        /// own.</summary>
        internal static Entry Of(string name, Parameter parameter) =>
            parameter is NativeParameter { Shape: { } shape, DataType: { } dataType }
                ? new(name, shape, dataType, () => parameter.Array, isSnapshot: true)
                : Of(name, parameter.Array);

        internal void Write(Stream stream)
        {
            NDArray array = values();
            try
            {
                if (!array.Shape.Equals(Shape) || array.DataType != DataType)
                {
                    throw new InvalidOperationException(
                        $"the shape or the type of {Name} was changed while the block was saved");
                }
                using NativeBytes bytes = ParameterFile.ElementsOf(array);
                bytes.ForEachPiece((piece, count) => stream.Write(piece, 0, count));
            }
            finally
            {
                if (isSnapshot)
                {
                    array.Dispose();
                }
            }
        }
    }
}
