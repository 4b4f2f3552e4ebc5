// SPDX-License-Identifier: Apache-2.0
using System.IO;
using System.Text;

namespace Heed;

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
            int more = NativeBytes.ReadSome(stream, bytes, length, count - length);
            length += more > 0 ? more : throw Ended(length, count);
        }
        crc.Add(bytes, count);
        return bytes;
    }
}
