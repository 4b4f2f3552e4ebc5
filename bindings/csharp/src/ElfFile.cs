// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;

namespace Heed;

/// <summary>A shared library as a file.</summary>
internal static class ElfFile
{
    private const int HeaderBytes = 64;
    private const int SegmentBytes = 56;
    private const int SectionBytes = 64;
    private const int LoadedSegment = 1;

    /// <summary>The number of bytes that are missing at the end; 0 if none are missing, or if the system's loader
    /// refuses the file itself.</summary>
    /// <remarks>The loader maps a truncated file without an error, and the process ends when it accesses the missing
    /// part.</remarks>
    internal static long NumMissingBytes(string file)
    {
        using var reader = new BinaryReader(File.OpenRead(file));
        long length = reader.BaseStream.Length;
        byte[] header = reader.ReadBytes(HeaderBytes);
        bool isElf64 = header.Length == HeaderBytes && BitConverter.IsLittleEndian
            && header[0] == 0x7f && header[1] == 'E' && header[2] == 'L' && header[3] == 'F'
            && header[4] == 2 && header[5] == 1
            && BitConverter.ToUInt16(header, 54) == SegmentBytes;
        if (!isElf64)
        {
            return 0;
        }
        // Linkers write the section table last.
        long end = BitConverter.ToInt64(header, 40) + ((long)BitConverter.ToUInt16(header, 60) * SectionBytes);
        long segments = BitConverter.ToInt64(header, 32);
        int numSegments = BitConverter.ToUInt16(header, 56);
        end = Math.Max(end, segments + ((long)numSegments * SegmentBytes));
        if (segments >= HeaderBytes && end <= length)
        {
            reader.BaseStream.Position = segments;
            for (int i = 0; i < numSegments; i++)
            {
                byte[] segment = reader.ReadBytes(SegmentBytes);
                if (BitConverter.ToInt32(segment, 0) == LoadedSegment)
                {
                    end = Math.Max(end, BitConverter.ToInt64(segment, 8) + BitConverter.ToInt64(segment, 32));
                }
            }
        }
        return Math.Max(0, end - length);
    }
}
