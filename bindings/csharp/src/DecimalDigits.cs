// SPDX-License-Identifier: Apache-2.0
using System;
using System.Numerics;
using System.Text;

namespace Heed;

/// <summary>The decimal digits of a floating-point number: the fewest that identify it among all numbers of its type,
/// computed exactly. These are NumPy's digits; those of .NET Framework and Mono are not always the fewest.</summary>
internal readonly struct DecimalDigits
{
    /// <summary>More digits than any number has.</summary>
    internal const int Unlimited = 2000;

    /// <summary>The number of fraction bits of a double.</summary>
    private const int FractionBits = 52;

    /// <summary>The difference between the exponent field of a double and the exponent of its last fraction
    /// bit.</summary>
    private const int ExponentBias = 1075;

    private static readonly BigInteger Ten = 10;

    private DecimalDigits(string digits, int exponent)
    {
        Digits = digits;
        Exponent = exponent;
    }

    /// <summary>The digits without a decimal point, and without leading zeros unless the number is 0.</summary>
    internal string Digits { get; }

    /// <summary>The power of ten of the first digit.</summary>
    internal int Exponent { get; }

    /// <summary>Finds the digits of a finite number without its sign.</summary>
    /// <param name="value">A number of the type.</param>
    /// <param name="type">A floating-point type.</param>
    /// <param name="maxDigits">The largest number of digits; the number is rounded to the nearest, a tie to the even
    /// digit.</param>
    /// <param name="maxFraction">The largest number of digits after the decimal point; the first digit of the number
    /// must be among them or before the point.</param>
    /// <param name="minDigits">Give at least this number of digits, if the exact number has as many.</param>
    internal static DecimalDigits Of(double value, DataType type, int maxDigits, int maxFraction, int minDigits)
    {
        if (value == 0)
        {
            return new DecimalDigits("0", 0);
        }
        long bits = BitConverter.DoubleToInt64Bits(value) & long.MaxValue;
        int field = (int)(bits >> FractionBits);
        long mantissa = (bits & ((1L << FractionBits) - 1)) | (field == 0 ? 0 : 1L << FractionBits);
        int power = Math.Max(field, 1) - ExponentBias;
        int dropped = Math.Max(FractionBits + 1 - type.SignificandBits(), type.LeastPower() - power);
        mantissa >>= dropped;
        power += dropped;
        bool isEven = (mantissa & 1) == 0;
        bool isPowerOfTwo = mantissa == 1L << (type.SignificandBits() - 1) && power > type.LeastPower();

        // The number is rest / scale; above and below are half the distances to its neighbours, in the same scale.
        int shift = Math.Max(power, 0);
        BigInteger rest = (BigInteger)mantissa << (shift + 2);
        BigInteger scale = BigInteger.One << (shift - power + 2);
        BigInteger above = BigInteger.One << (shift + 1);
        BigInteger below = isPowerOfTwo ? above >> 1 : above;
        int first = (int)Math.Floor(Math.Log10(Math.Abs(value)));
        BigInteger tens = BigInteger.Pow(Ten, Math.Abs(first));
        if (first > 0)
        {
            scale *= tens;
        }
        else
        {
            rest *= tens;
            above *= tens;
            below *= tens;
        }

        // The logarithm is rounded.
        if (rest < scale)
        {
            first--;
            rest *= Ten;
            above *= Ten;
            below *= Ten;
        }
        else if (rest >= scale * Ten)
        {
            first++;
            scale *= Ten;
        }

        var text = new StringBuilder();
        for (int exponent = first; ; exponent--)
        {
            int digit = (int)BigInteger.DivRem(rest, scale, out rest);
            text.Append((char)('0' + digit));
            int toLower = rest.CompareTo(below);
            int toUpper = (rest + above).CompareTo(scale);
            bool mayEnd = isEven ? toLower <= 0 : toLower < 0;
            bool mayRoundUp = isEven ? toUpper >= 0 : toUpper > 0;
            bool isCut = text.Length == maxDigits || exponent == -maxFraction;
            if (isCut || ((mayEnd || mayRoundUp) && text.Length >= minDigits))
            {
                int toHalf = mayEnd == mayRoundUp ? (rest << 1).CompareTo(scale) : mayEnd ? -1 : 1;
                return toHalf > 0 || (toHalf == 0 && digit % 2 == 1)
                    ? RoundedUp(text, first)
                    : new DecimalDigits(text.ToString(), first);
            }
            rest *= Ten;
            above *= Ten;
            below *= Ten;
        }
    }

    private static DecimalDigits RoundedUp(StringBuilder digits, int exponent)
    {
        int last = digits.Length - 1;
        while (last >= 0 && digits[last] == '9')
        {
            last--;
        }
        if (last < 0)
        {
            return new DecimalDigits("1", exponent + 1);
        }
        digits.Length = last + 1;
        digits[last]++;
        return new DecimalDigits(digits.ToString(), exponent);
    }
}
