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

    private readonly Pair<string, NDArray>[] arrays;
    private readonly byte[] header;

    /// <summary>The arrays must stay open.</summary>
    internal SafetensorsWriter(IEnumerable<Pair<string, NDArray>> arrays)
    {
        this.arrays = arrays.OrderBy(each => -each.Value.DataType.NumOfBytes())
            .ThenBy(each => each.Key, StringComparer.Ordinal)
            .ToArray();
        header = Header();
    }

    internal long NumBytes => header.Length + this.arrays.Sum(each => NumBytesOf(each.Value));

    internal void Write(Stream stream)
    {
        stream.Write(header, 0, header.Length);
        foreach (Pair<string, NDArray> each in arrays)
        {
            using NativeBytes bytes = ParameterFile.ElementsOf(each.Value);
            bytes.ForEachPiece((piece, count) => stream.Write(piece, 0, count));
        }
    }

    private static long NumBytesOf(NDArray array) => array.Size * array.DataType.NumOfBytes();

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
        var entries = new List<string> { "\"__metadata__\":{\"format\":\"pt\"}" };
        long begin = 0;
        foreach (Pair<string, NDArray> each in arrays)
        {
            long end = begin + NumBytesOf(each.Value);
            string dims = string.Join(",", each.Value.Shape.Select(dim => $"{dim}"));
            entries.Add(
                $"{Quoted(each.Key)}:{{\"dtype\":\"{NameOf(each.Value.DataType)}\",\"shape\":[{dims}],"
                + $"\"data_offsets\":[{begin},{end}]}}");
            begin = end;
        }
        byte[] text = Encoding.UTF8.GetBytes("{" + string.Join(",", entries) + "}");
        int length = (text.Length + Alignment - 1) / Alignment * Alignment;
        byte[] made = Enumerable.Repeat((byte)' ', Alignment + length).ToArray();
        for (int i = 0; i < Alignment; i++)
        {
            made[i] = (byte)((long)length >> (8 * i));
        }
        text.CopyTo(made, Alignment);
        return made;
    }
}
