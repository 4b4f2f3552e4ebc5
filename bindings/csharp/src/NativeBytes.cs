// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Heed;

/// <summary>Bytes between a stream and the native library. They are outside the managed heap, because a managed array
/// is limited to 2 GiB.</summary>
internal sealed unsafe class NativeBytes : IDisposable
{
    private const int PieceBytes = 1 << 20;
    private long capacity;

    internal NativeBytes(long capacity)
    {
        this.capacity = capacity;
        Data = (byte*)Marshal.AllocHGlobal(new IntPtr(Math.Max(capacity, 1)));
    }

    internal byte* Data { get; private set; }

    internal long Length { get; private set; }

    /// <summary>Reads the next bytes of a stream, at most <paramref name="atMost"/>. Memory is allocated as they are
    /// read, not by the size that a file states.</summary>
    internal static NativeBytes Read(Stream stream, long atMost = long.MaxValue)
    {
        var bytes = new NativeBytes(Math.Min(atMost, PieceBytes));
        try
        {
            var piece = new byte[Math.Min(atMost, PieceBytes)];
            int count = -1;
            while (bytes.Length < atMost && count != 0)
            {
                int wanted = (int)Math.Min(piece.Length, atMost - bytes.Length);
                count = ReadSome(stream, piece, 0, wanted);
                bytes.Append(piece, count, atMost);
            }
            return bytes;
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }

    /// <summary>Reads the bytes that a stream has now, at most <paramref name="wanted"/>; returns 0 at its
    /// end.</summary>
    /// <exception cref="IOException">The stream returns a count that is not possible.</exception>
    internal static int ReadSome(Stream stream, byte[] bytes, int offset, int wanted)
    {
        int count = stream.Read(bytes, offset, wanted);
        return count >= 0 && count <= wanted
            ? count
            : throw new IOException($"the stream says that it has read {count} bytes, expected 0 to {wanted}");
    }

    /// <summary>Sets the number of valid bytes, from the first on.</summary>
    internal void Fill(long length) => Length = length;

    /// <summary>Calls the action with pieces of the bytes, in a managed array that the action must not keep.</summary>
    internal void ForEachPiece(Action<byte[], int> action)
    {
        var piece = new byte[Math.Min(Length, PieceBytes)];
        for (long start = 0; start < Length; start += piece.Length)
        {
            int count = (int)Math.Min(piece.Length, Length - start);
            Marshal.Copy((IntPtr)(Data + start), piece, 0, count);
            action(piece, count);
        }
    }

    public void Dispose()
    {
        Marshal.FreeHGlobal((IntPtr)Data);
        Data = null;
    }

    private void Append(byte[] piece, int count, long atMost)
    {
        if (count > capacity - Length)
        {
            capacity = Math.Min(2 * capacity, atMost);
            Data = (byte*)Marshal.ReAllocHGlobal((IntPtr)Data, new IntPtr(capacity));
        }
        Marshal.Copy(piece, 0, (IntPtr)(Data + Length), count);
        Length += count;
    }
}
