// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using System.Text;
using Xunit;

namespace Heed.Tests;

/// <summary>The bytes of a list: DJL's format. make_array_list.py has written the files without heed.</summary>
public sealed class EncodedListTests : IDisposable
{
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly byte[] encoded = File.ReadAllBytes(TestFiles.Data("array_list.bin"));

    public void Dispose() => manager.Dispose();

    [Fact]
    public void ReadsAndWritesTheBytesOfDjl()
    {
        NDList list = NDList.Decode(manager, encoded);
        Assert.Equal(5, list.Count);
        Assert.Equal("größe €\ud834\udd1e", list[0].Name);
        Assert.Equal(new Shape(2, 3), list[0].Shape);
        Assert.Equal(new[] { 1, -2.5f, 3, 0.1f, 5, 6 }, list[0].ToFloatArray());
        Assert.Null(list[1].Name);
        Assert.Equal(-(1L << 40), list[1].GetLong());
        Assert.Equal(string.Empty, list[2].Name);
        Assert.Equal(DataType.BFloat16, list[2].DataType);
        Assert.Equal(new[] { 1, -2.5f }, list[2].ToFloatArray());
        Assert.Equal(new[] { true, false, true }, list[3].ToBooleanArray());
        Assert.Equal(new Shape(0, 2), list[4].Shape);
        Assert.Same(manager, list.Manager);
        Assert.Equal(encoded, list.Encode());
        using var stream = new MemoryStream();
        list.Encode(stream);
        Assert.Equal(encoded, stream.ToArray());
    }

    [Fact]
    public void ReadsEarlierVersionsAndTheOtherByteOrder()
    {
        NDList list = NDList.Decode(manager, File.ReadAllBytes(TestFiles.Data("array_list_old.bin")));
        Assert.Equal(3, list.Count);
        Assert.Equal(new byte[] { 1, 255 }, list[0].ToByteArray());
        Assert.Equal("second", list[1].Name);
        Assert.Equal(new byte[] { 2, 254 }, list[1].ToByteArray());
        Assert.Equal(new[] { 7, -8 }, list[2].ToIntArray());
    }

    [Fact]
    public void WritesViewsAndEmptyLists()
    {
        NDArray array = manager.Create(new[] { 1, 2, 3, 4, 5, 6 }, new Shape(2, 3));
        NDList found = NDList.Decode(manager, new NDList(array.Transpose(), array[1]).Encode());
        Assert.Equal(new[] { 1, 4, 2, 5, 3, 6 }, found[0].ToIntArray());
        Assert.Equal(new[] { 4, 5, 6 }, found[1].ToIntArray());
        Assert.Equal(new byte[4], new NDList().Encode());
        Assert.Empty(NDList.Decode(manager, new byte[4]));
    }

    [Fact]
    public void ReadsOneListOfAStream()
    {
        byte[] twice = encoded.Concat(encoded).Append((byte)0).ToArray();
        using var stream = new MemoryStream(twice);
        Assert.Equal(5, NDList.Decode(manager, stream).Count);
        Assert.Equal(5, NDList.Decode(manager, stream).Count);
        Assert.Equal(twice.Length - 1, stream.Position);
        Assert.Equal(
            $"bytes has {encoded.Length + 1} bytes after its list, expected none",
            Refused<InvalidDataException>(twice));
    }

    [Fact]
    public void TruncatedListsAreRefusedWithWhatIsMissing()
    {
        for (int length = 0; length < encoded.Length; length++)
        {
            string bytes = length == 1 ? "byte" : "bytes";
            Assert.StartsWith(
                $"the stream ends after {length} {bytes}, and lacks ",
                Refused<EndOfStreamException>(encoded.Take(length).ToArray()));
        }
        Assert.Equal(
            "the stream ends after 3 bytes, and lacks 1 of the 4 bytes of the number of arrays",
            Refused<EndOfStreamException>(new byte[3]));
        int elements = IndexOf("<") + 5;
        Assert.Equal(
            $"the stream ends after {elements + 20} bytes, and lacks 4 of the 24 bytes of the elements of array 0",
            Refused<EndOfStreamException>(encoded.Take(elements + 20).ToArray()));
    }

    [Fact]
    public void BytesThatAreNotAListAreRefused()
    {
        Assert.Equal(
            "the stream is not what Encode writes: array 0 does not begin with \"NDAR\"; NDManager.Load reads .npy and "
            + ".safetensors files",
            Refused<InvalidDataException>(Changed("NDAR", "NDAX")));
        Assert.Equal("the stream has a count of -1", Refused<InvalidDataException>(new byte[] { 255, 255, 255, 255 }));
        Assert.Equal(
            "array 0 has the format \"CSR??\", expected \"DENSE\"",
            Refused<NotSupportedException>(Changed("DENSE", "CSR\0\n")));
        Assert.Equal(
            "array 0 has elements of the type \"STRING1\", expected one of those of DataType",
            Refused<NotSupportedException>(Changed("FLOAT32", "STRING1")));
        Assert.Equal(
            "array 0 has elements of the type \"0000003\", expected one of those of DataType",
            Refused<NotSupportedException>(Changed("FLOAT32", "0000003")));
        Assert.Equal(
            "array 0 has 24 bytes of elements, which do not fit FLOAT64 and the shape (2, 3)",
            Refused<InvalidDataException>(Changed("FLOAT32", "FLOAT64")));
        Assert.Equal(
            "array 0 has the byte order 61, expected 60 for little-endian or 62 for big-endian",
            Refused<InvalidDataException>(Changed("<", "=")));
        Assert.Equal("array 0 is of version 4, expected 1 to 3", Refused<NotSupportedException>(Changed(13, 4)));
        int shape = IndexOf("FLOAT32") + 7;
        Assert.Equal(
            "axis 0 of array 0 has the size -9223372036854775806, expected 0 or more",
            Refused<InvalidDataException>(Changed(shape + 4, 128)));
        Assert.Equal("array 0 has 9 axes, expected 0 to 8", Refused<InvalidDataException>(Changed(shape + 3, 9)));
        Assert.Equal(
            "array 0 has layouts for 1 axes, expected 2",
            Refused<InvalidDataException>(Changed(shape + 4 + (2 * 8) + 3, 1)));
        Assert.EndsWith(
            "and the shape (9151314442816847874, 3)", Refused<InvalidDataException>(Changed(shape + 4, 127)));
        Assert.StartsWith(
            "array 4 has the shape (0, 1152921504606846978): ",
            Refused<InvalidDataException>(Changed(IndexOf("FLOAT64") + 7 + 4 + 8, 16)));
    }

    /// <summary>Any changed byte is refused or gives arrays; nothing else happens.</summary>
    [Fact]
    public void DamageIsRefusedOrGivesArrays()
    {
        int refused = 0;
        for (int bit = 0; bit < 8 * encoded.Length; bit++)
        {
            byte[] damaged = Changed(bit / 8, (byte)(encoded[bit / 8] ^ (1 << (bit % 8))));
            try
            {
                NDList.Decode(manager, damaged).Dispose();
            }
            catch (Exception error) when (error is InvalidDataException or EndOfStreamException or NotSupportedException)
            {
                refused++;
                Assert.InRange(error.Message.Length, 1, 200);
            }
        }
        Assert.InRange(refused, 500, 8 * encoded.Length);
    }

    private string Refused<T>(byte[] bytes)
        where T : Exception => Assert.Throws<T>(() => NDList.Decode(manager, bytes)).Message;

    private byte[] Changed(string before, string after)
    {
        var bytes = (byte[])encoded.Clone();
        Encoding.Latin1.GetBytes(after).CopyTo(bytes, IndexOf(before));
        return bytes;
    }

    private byte[] Changed(int place, byte value)
    {
        var bytes = (byte[])encoded.Clone();
        bytes[place] = value;
        return bytes;
    }

    private int IndexOf(string text) => Encoding.Latin1.GetString(encoded).IndexOf(text, StringComparison.Ordinal);
}
