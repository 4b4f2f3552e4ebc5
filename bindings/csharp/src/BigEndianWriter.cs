// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;

namespace Heed;

/// <summary>Writes numbers and text like Java's DataOutputStream, and computes a checksum of the bytes.</summary>
internal sealed class BigEndianWriter
{
    private readonly Stream stream;
    private readonly byte[] number = new byte[8];
    private readonly Crc32 crc = new Crc32();

    internal BigEndianWriter(Stream stream)
    {
        this.stream = stream;
    }

    /// <summary>The checksum of all bytes that were written.</summary>
    internal uint Crc => crc.Value;

    internal void WriteByte(byte value) => Write((long)value, 1);

    internal void WriteInt(int value) => Write((long)value, 4);

    internal void WriteLong(long value) => Write(value, 8);

    /// <summary>Writes the number of bytes, then the text in modified UTF-8.</summary>
    internal void WriteText(string text)
    {
        using var bytes = new MemoryStream();
        foreach (char unit in text)
        {
            if (unit is > '\0' and < '\u0080')
            {
                bytes.WriteByte((byte)unit);
                continue;
            }
            if (unit < '\u0800')
            {
                bytes.WriteByte((byte)(0xc0 | (unit >> 6)));
            }
            else
            {
                bytes.WriteByte((byte)(0xe0 | (unit >> 12)));
                bytes.WriteByte((byte)(0x80 | ((unit >> 6) & 0x3f)));
            }
            bytes.WriteByte((byte)(0x80 | (unit & 0x3f)));
        }
        if (bytes.Length > ushort.MaxValue)
        {
            throw new NotSupportedException(
                $"a name takes {bytes.Length} bytes, at most {ushort.MaxValue} are possible");
        }
        Write(bytes.Length, 2);
        Write(bytes.ToArray(), (int)bytes.Length);
    }

    /// <summary>Writes the number of bytes, then the bytes.</summary>
    internal void WriteBytes(NativeBytes bytes)
    {
        if (bytes.Length > int.MaxValue)
        {
            throw new NotSupportedException(
                $"a block's parameters take {bytes.Length} bytes, at most {int.MaxValue} are possible: "
                + "Save has no such limit");
        }
        WriteInt((int)bytes.Length);
        bytes.ForEachPiece(Write);
    }

    private void Write(long value, int count)
    {
        for (int i = 0; i < count; i++)
        {
            number[i] = unchecked((byte)(value >> (8 * (count - 1 - i))));
        }
        Write(number, count);
    }

    private void Write(byte[] bytes, int count)
    {
        crc.Add(bytes, count);
        stream.Write(bytes, 0, count);
    }
}
