// SPDX-License-Identifier: Apache-2.0
namespace Heed;

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
