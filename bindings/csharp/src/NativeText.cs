// SPDX-License-Identifier: Apache-2.0
using System;
using System.Text;

namespace Heed;

/// <summary>Text as the native wrapper takes it: UTF-8 with a terminating zero.</summary>
internal static class NativeText
{
    internal static byte[] ToNative(string text, string name)
    {
        _ = text ?? throw new ArgumentNullException(name);
        if (text.IndexOf('\0') >= 0)
        {
            throw new ArgumentException(name + " contains a zero character", name);
        }
        return Encoding.UTF8.GetBytes(text + '\0');
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
}
