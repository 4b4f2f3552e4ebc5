// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using System.Linq;

namespace Heed;

/// <summary>Formats the floating-point numbers of an array as texts of the same width, or a single number, by NumPy's
/// rules (2.3 and later).</summary>
internal static class FloatTexts
{
    /// <summary>NumPy's precision: the number of digits after the point.</summary>
    private const int MaxFraction = 8;

    private const double LargestWithoutExponent = 1e8;
    private const double LargestSingleWithoutExponent = 1e16;
    private const double LeastWithoutExponent = 1e-4;
    private const double LargestRatioWithoutExponent = 1000;

    /// <summary>The largest powers of two that do not exceed the two bounds above.</summary>
    private const int PowerOfLeast = -14;
    private const int PowerOfRatio = 9;

    private const int MinExponentDigits = 2;

    /// <summary>The length of "nan" and "inf".</summary>
    private const int NameLength = 3;

    /// <summary>Formats the numbers of an array, with the decimal points aligned.</summary>
    internal static string[] Aligned(double[] numbers, DataType type)
    {
        bool isScientific = NeedExponents(numbers, type);
        var parts = new Parts?[numbers.Length];
        for (int i = 0; i < numbers.Length; i++)
        {
            parts[i] = !IsFinite(numbers[i]) ? null
                : isScientific ? Parts.Scientific(numbers[i], type, MaxFraction + 1, 0)
                : Parts.Positional(numbers[i], type, MaxFraction);
        }
        int left = parts.Max(part => part?.Whole.Length ?? 0);
        int fraction = parts.Max(part => part?.Fraction.Length ?? 0);
        int exponentDigits = parts.Max(part => part?.ExponentDigits ?? 0);
        int right = fraction + (isScientific ? 2 + exponentDigits : 0);
        if (parts.Contains(null))
        {
            int sign = numbers.Contains(double.NegativeInfinity) ? 1 : 0;
            left = Math.Max(left, NameLength + sign - right - 1);
        }
        return numbers.Select((number, i) =>
        {
            if (parts[i] is not { } part)
            {
                return Name(number).PadLeft(left + 1 + right);
            }
            if (!isScientific)
            {
                return part.Whole.PadLeft(left) + "." + part.Fraction.PadRight(right);
            }
            Parts all = Parts.Scientific(number, type, fraction + 1, fraction + 1);
            return all.Whole.PadLeft(left) + "." + all.Fraction.PadRight(fraction, '0')
                + all.ExponentText(exponentDigits);
        }).ToArray();
    }

    /// <summary>Formats a single number.</summary>
    internal static string Single(double number, DataType type)
    {
        if (!IsFinite(number))
        {
            return Name(number);
        }
        double size = Math.Abs(number);
        double limit = type == DataType.Float64 ? LargestSingleWithoutExponent : TensOf(type);
        if (size == 0 || (size < limit && size >= LeastWithoutExponent))
        {
            Parts parts = Parts.Positional(number, type, DecimalDigits.Unlimited);
            return parts.Whole + "." + (parts.Fraction.Length == 0 ? "0" : parts.Fraction);
        }
        Parts scientific = Parts.Scientific(number, type, DecimalDigits.Unlimited, 0);
        return scientific.Whole + (scientific.Fraction.Length == 0 ? string.Empty : "." + scientific.Fraction)
            + scientific.ExponentText(MinExponentDigits);
    }

    /// <summary>Whether the numbers are printed with exponents. NumPy compares with bounds, and a ratio, that are
    /// rounded to the array's type.</summary>
    private static bool NeedExponents(double[] numbers, DataType type)
    {
        double[] sizes = numbers.Where(number => IsFinite(number) && number != 0).Select(Math.Abs).ToArray();
        if (sizes.Length == 0)
        {
            return false;
        }
        double largest = sizes.Max();
        double least = sizes.Min();
        double step = Math.Pow(2, PowerOfLeast + 1 - type.SignificandBits());
        double ratioStep = Math.Pow(2, PowerOfRatio + 1 - type.SignificandBits());
        return largest >= Math.Min(LargestWithoutExponent, TensOf(type))
            || least < Math.Round(LeastWithoutExponent / step) * step
            || largest / least > LargestRatioWithoutExponent + (ratioStep / 2);
    }

    /// <summary>The power of ten whose exponent is the number of decimal digits that a number of the type always
    /// keeps.</summary>
    private static double TensOf(DataType type) =>
        Math.Pow(10, Math.Floor((type.SignificandBits() - 1) * Math.Log10(2)));

    private static bool IsFinite(double number) => !double.IsNaN(number) && !double.IsInfinity(number);

    private static string Name(double number) => double.IsNaN(number) ? "nan" : number < 0 ? "-inf" : "inf";

    /// <summary>A finite number: the digits before the point, with the sign; the digits after it; the exponent of
    /// ten.</summary>
    private sealed class Parts
    {
        private readonly int exponent;

        private Parts(double number, string whole, string fraction, int exponent)
        {
            bool isNegative = BitConverter.DoubleToInt64Bits(number) < 0;
            Whole = isNegative ? "-" + whole : whole;
            Fraction = fraction.TrimEnd('0');
            this.exponent = exponent;
        }

        internal string Whole { get; }

        internal string Fraction { get; }

        internal int ExponentDigits => Math.Max(DigitsOfExponent.Length, MinExponentDigits);

        private string DigitsOfExponent => Math.Abs(exponent).ToString(CultureInfo.InvariantCulture);

        internal static Parts Positional(double number, DataType type, int maxFraction)
        {
            DecimalDigits found = DecimalDigits.Of(number, type, DecimalDigits.Unlimited, maxFraction, 0);
            int numWhole = Math.Max(found.Exponent, 0) + 1;
            string digits = new string('0', Math.Max(-found.Exponent, 0)) + found.Digits;
            string all = digits.PadRight(numWhole, '0');
            return new Parts(number, all.Substring(0, numWhole), all.Substring(numWhole), 0);
        }

        internal static Parts Scientific(double number, DataType type, int maxDigits, int minDigits)
        {
            DecimalDigits found = DecimalDigits.Of(number, type, maxDigits, DecimalDigits.Unlimited, minDigits);
            return new Parts(number, found.Digits.Substring(0, 1), found.Digits.Substring(1), found.Exponent);
        }

        internal string ExponentText(int numDigits) =>
            (exponent < 0 ? "e-" : "e+") + DigitsOfExponent.PadLeft(numDigits, '0');
    }
}
