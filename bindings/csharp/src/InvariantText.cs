// SPDX-License-Identifier: Apache-2.0
using System.Globalization;
using System.Text;

namespace System.Runtime.CompilerServices;

/// <summary>What the compiler writes interpolated strings with in this assembly, in place of .NET's own of that name:
/// numbers are the same in every culture of the program, in each message and description.</summary>
internal readonly ref struct DefaultInterpolatedStringHandler
{
    /// <summary>A guess at the length of the text of a value.</summary>
    private const int LengthOfValue = 12;

    private readonly StringBuilder text;

    public DefaultInterpolatedStringHandler(int literalLength, int formattedCount)
    {
        text = new StringBuilder(literalLength + (formattedCount * LengthOfValue));
    }

    public void AppendLiteral(string value) => text.Append(value);

    public void AppendFormatted<T>(T value) => text.Append(
        value is IFormattable number ? number.ToString(null, CultureInfo.InvariantCulture) : value?.ToString());

    public string ToStringAndClear() => text.ToString();
}
