// SPDX-License-Identifier: Apache-2.0
using System;
using System.Text;

namespace Heed;

/// <summary>Text in the native wrapper's format: UTF-8 with a terminating zero.</summary>
internal static class NativeText
{
    private static readonly Encoding Strict = new UTF8Encoding(false, throwOnInvalidBytes: true);

    /// <summary>Writes text, and returns the number of bytes that the whole text needs.</summary>
    internal unsafe delegate long Writer(byte* text, ulong capacity);

    internal static byte[] ToNative(string text, string name)
    {
        _ = text ?? throw new ArgumentNullException(name);
        if (text.IndexOf('\0') >= 0)
        {
            throw new ArgumentException(name + " contains a zero character", name);
        }
        try
        {
            return Strict.GetBytes(text + '\0');
        }
        catch (EncoderFallbackException error)
        {
            throw new ArgumentException(
                name + " contains one half of a surrogate pair without the other, which is no text", name, error);
        }
    }

    internal static unsafe string ToManaged(byte* text)
    {
        int length = 0;
        while (text[length] != 0)
        {
            length++;
        }
        return Encoding.UTF8.GetString(text, length);
    }

    /// <summary>Returns the whole text. <paramref name="write"/> with null returns its size.</summary>
    internal static unsafe string Of(Writer write)
    {
        long needed = write(null, 0);
        while (true)
        {
            var text = new byte[needed];
            fixed (byte* start = text)
            {
                needed = write(start, (ulong)text.Length);
                if (needed <= text.Length)
                {
                    return ToManaged(start);
                }
            }
        }
    }
}
