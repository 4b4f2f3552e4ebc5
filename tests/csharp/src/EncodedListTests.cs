// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Xunit;

namespace Heed.Tests;

/// <summary>Damaged bytes of a list. tests/bindings/cases/encoded_list.txt tests the format.</summary>
public sealed class EncodedListTests
{
    /// <summary>Any changed byte is refused or gives arrays; nothing else happens.</summary>
    [Fact]
    public void DamageIsRefusedOrGivesArrays()
    {
        using NDManager manager = TestDevice.NewManager();
        byte[] encoded = File.ReadAllBytes(TestFiles.Data("array_list.bin"));
        int refused = 0;
        for (int bit = 0; bit < 8 * encoded.Length; bit++)
        {
            var damaged = (byte[])encoded.Clone();
            damaged[bit / 8] ^= (byte)(1 << (bit % 8));
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
}
