// SPDX-License-Identifier: Apache-2.0
using System.IO;
using System.Text;

namespace Heed;

/// <summary>Reads what <see cref="BigEndianWriter"/> writes, and no byte after it. Each method takes the name of what
/// it reads: if the stream ends there, the EndOfStreamException says what is missing.</summary>
internal sealed class BigEndianReader
{
    private readonly Stream stream;
    private readonly Crc32 crc = new Crc32();
    private long numBytes;

    internal BigEndianReader(Stream stream)
    {
        this.stream = stream;
    }

    /// <summary>The checksum of all bytes that were read.</summary>
    internal uint Crc => crc.Value;

    internal static void CheckCount(int count)
    {
        if (count < 0)
        {
            throw new MalformedModelException($"the stream has a count of {count}");
        }
    }

    internal int ReadByte(string what) => (int)ReadNumber(1, what);

    internal int ReadInt(string what) => unchecked((int)ReadNumber(4, what));

    internal long ReadLong(string what) => ReadNumber(8, what);

    internal string ReadText(string what)
    {
        byte[] bytes = Read((int)ReadNumber(2, "the length of " + what), what);
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

    internal NativeBytes ReadBytes(string what)
    {
        int count = ReadInt("the length of " + what);
        CheckCount(count);
        NativeBytes bytes = NativeBytes.Read(stream, count);
        try
        {
            CheckEnd(bytes.Length, count, what);
            bytes.ForEachPiece(crc.Add);
            return bytes;
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }

    private long ReadNumber(int count, string what)
    {
        long value = 0;
        foreach (byte each in Read(count, what))
        {
            value = (value << 8) | each;
        }
        return value;
    }

    private byte[] Read(int count, string what)
    {
        var bytes = new byte[count];
        int length = 0;
        int more = -1;
        while (length < count && more != 0)
        {
            more = NativeBytes.ReadSome(stream, bytes, length, count - length);
            length += more;
        }
        CheckEnd(length, count, what);
        crc.Add(bytes, count);
        return bytes;
    }

    private void CheckEnd(long found, long wanted, string what)
    {
        numBytes += found;
        if (found < wanted)
        {
            string part = found == 0 ? "" : $"{wanted - found} of the {wanted} bytes of ";
            string came = numBytes == 1 ? "1 byte" : $"{numBytes} bytes";
            throw new EndOfStreamException($"the stream ends after {came}, and lacks {part}{what}");
        }
    }
}
