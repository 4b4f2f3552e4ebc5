// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Text;

namespace Heed;

/// <summary>Writes as Java's DataOutputStream does, and sums up what it has written.</summary>
internal sealed class BigEndianWriter
{
    private readonly Stream stream;
    private readonly byte[] number = new byte[8];
    private readonly Crc32 crc = new Crc32();

    internal BigEndianWriter(Stream stream)
    {
        this.stream = stream;
    }

    /// <summary>The checksum of all that was written.</summary>
    internal uint Crc => crc.Value;

    internal void WriteByte(byte value) => Write((long)value, 1);

    internal void WriteInt(int value) => Write((long)value, 4);

    internal void WriteLong(long value) => Write(value, 8);

    /// <summary>Modified UTF-8 behind its number of bytes.</summary>
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

    /// <summary>Bytes behind their number.</summary>
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

/// <summary>Reads what <see cref="BigEndianWriter"/> writes, and not a byte more.</summary>
internal sealed class BigEndianReader
{
    private readonly Stream stream;
    private readonly Crc32 crc = new Crc32();

    internal BigEndianReader(Stream stream)
    {
        this.stream = stream;
    }

    /// <summary>The checksum of all that was read.</summary>
    internal uint Crc => crc.Value;

    internal static void CheckCount(int count)
    {
        if (count < 0)
        {
            throw new MalformedModelException($"the stream has a count of {count}");
        }
    }

    internal int ReadByte() => (int)ReadNumber(1);

    internal int ReadInt() => unchecked((int)ReadNumber(4));

    internal long ReadLong() => ReadNumber(8);

    internal string ReadText()
    {
        byte[] bytes = Read((int)ReadNumber(2));
        var text = new StringBuilder(bytes.Length);
        int at = 0;
        int Continued() => at < bytes.Length && (bytes[at] & 0xc0) == 0x80
            ? bytes[at++] & 0x3f
            : throw new MalformedModelException("the stream has a name that is no text");
        while (at < bytes.Length)
        {
            int first = bytes[at++];
            int unit = first < 0x80 ? first
                : (first & 0xe0) == 0xc0 ? ((first & 0x1f) << 6) | Continued()
                : (first & 0xf0) == 0xe0 ? ((first & 0x0f) << 12) | (Continued() << 6) | Continued()
                : throw new MalformedModelException("the stream has a name that is no text");
            text.Append((char)unit);
        }
        return text.ToString();
    }

    internal NativeBytes ReadBytes()
    {
        int count = ReadInt();
        CheckCount(count);
        NativeBytes bytes = NativeBytes.Read(stream, count);
        if (bytes.Length < count)
        {
            long found = bytes.Length;
            bytes.Dispose();
            throw Ended(found, count);
        }
        bytes.ForEachPiece(crc.Add);
        return bytes;
    }

    private static EndOfStreamException Ended(long found, long expected) =>
        new EndOfStreamException($"the stream ends after {found} of {expected} bytes");

    private long ReadNumber(int count)
    {
        long value = 0;
        foreach (byte each in Read(count))
        {
            value = (value << 8) | each;
        }
        return value;
    }

    private byte[] Read(int count)
    {
        var bytes = new byte[count];
        int length = 0;
        while (length < count)
        {
            int more = stream.Read(bytes, length, count - length);
            length += more > 0 ? more : throw Ended(length, count);
        }
        crc.Add(bytes, count);
        return bytes;
    }
}

/// <summary>The checksum of zip files and PNG (ISO 3309).</summary>
internal sealed class Crc32
{
    private static readonly uint[] Table = MakeTable();
    private uint state = uint.MaxValue;

    internal uint Value => ~state;

    internal void Add(byte[] bytes, int count)
    {
        for (int i = 0; i < count; i++)
        {
            state = Table[(byte)(state ^ bytes[i])] ^ (state >> 8);
        }
    }

    private static uint[] MakeTable()
    {
        var table = new uint[256];
        for (uint i = 0; i < table.Length; i++)
        {
            uint value = i;
            for (int bit = 0; bit < 8; bit++)
            {
                value = (value >> 1) ^ ((value & 1) * 0xedb88320);
            }
            table[i] = value;
        }
        return table;
    }
}
