// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;

/**
 * Formats the floating-point numbers of an array as texts of the same width, or a single number, by NumPy's rules (2.3
 * and later).
 */
final class FloatTexts {
    /** NumPy's precision: the number of digits after the point. */
    private static final int MAX_FRACTION = 8;

    private static final double LARGEST_WITHOUT_EXPONENT = 1e8;
    private static final double LARGEST_SINGLE_WITHOUT_EXPONENT = 1e16;
    private static final double LEAST_WITHOUT_EXPONENT = 1e-4;
    private static final double LARGEST_RATIO_WITHOUT_EXPONENT = 1000;
    private static final int MIN_EXPONENT_DIGITS = 2;
    /** The length of "nan" and "inf". */
    private static final int NAME_LENGTH = 3;

    private FloatTexts() {}

    /** Formats the numbers of an array, with the decimal points aligned. */
    static String[] aligned(double[] numbers, DataType type) {
        boolean scientific = needExponents(numbers, type);
        Parts[] parts = new Parts[numbers.length];
        int left = 0;
        int right = 0;
        int exponentDigits = 0;
        boolean hasNames = false;
        boolean hasNegativeInfinity = false;
        for (int i = 0; i < numbers.length; i++) {
            if (!Double.isFinite(numbers[i])) {
                hasNames = true;
                hasNegativeInfinity |= numbers[i] == Double.NEGATIVE_INFINITY;
                continue;
            }
            parts[i] = scientific
                    ? Parts.scientific(numbers[i], type, MAX_FRACTION + 1, 0)
                    : Parts.positional(numbers[i], type, MAX_FRACTION);
            left = Math.max(left, parts[i].whole.length());
            right = Math.max(right, parts[i].fraction.length());
            exponentDigits = Math.max(exponentDigits, parts[i].exponentDigits());
        }
        int fraction = right;
        right += scientific ? 2 + exponentDigits : 0;
        if (hasNames) {
            left = Math.max(left, NAME_LENGTH + (hasNegativeInfinity ? 1 : 0) - right - 1);
        }
        String[] texts = new String[numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            if (parts[i] == null) {
                texts[i] = padded(left + 1 + right, name(numbers[i]));
            } else if (scientific) {
                Parts all = Parts.scientific(numbers[i], type, fraction + 1, fraction + 1);
                texts[i] = padded(left, all.whole) + '.' + filled(all.fraction, fraction, '0')
                        + all.exponentText(exponentDigits);
            } else {
                texts[i] = padded(left, parts[i].whole) + '.' + filled(parts[i].fraction, right, ' ');
            }
        }
        return texts;
    }

    /** Formats a single number, of an array without axes. */
    static String single(double number, DataType type) {
        if (!Double.isFinite(number)) {
            return name(number);
        }
        double size = Math.abs(number);
        double limit = type == DataType.FLOAT64 ? LARGEST_SINGLE_WITHOUT_EXPONENT : tensOf(type);
        if (size == 0 || size < limit && size >= LEAST_WITHOUT_EXPONENT) {
            Parts parts = Parts.positional(number, type, DecimalDigits.UNLIMITED);
            return parts.whole + '.' + (parts.fraction.isEmpty() ? "0" : parts.fraction);
        }
        Parts parts = Parts.scientific(number, type, DecimalDigits.UNLIMITED, 0);
        return parts.whole + (parts.fraction.isEmpty() ? "" : '.' + parts.fraction)
                + parts.exponentText(MIN_EXPONENT_DIGITS);
    }

    /**
     * Whether the numbers are printed with exponents. NumPy compares with bounds, and a ratio, that are rounded to the
     * array's type.
     */
    private static boolean needExponents(double[] numbers, DataType type) {
        double largest = 0;
        double least = Double.POSITIVE_INFINITY;
        for (double number : numbers) {
            double size = Math.abs(number);
            if (size != 0 && Double.isFinite(size)) {
                largest = Math.max(largest, size);
                least = Math.min(least, size);
            }
        }
        double step = Math.scalb(1.0, Math.getExponent(LEAST_WITHOUT_EXPONENT) + 1 - type.significandBits());
        double ratioStep = Math.scalb(
                1.0, Math.getExponent(LARGEST_RATIO_WITHOUT_EXPONENT) + 1 - type.significandBits());
        return largest >= Math.min(LARGEST_WITHOUT_EXPONENT, tensOf(type))
                || least < Math.rint(LEAST_WITHOUT_EXPONENT / step) * step
                || largest / least > LARGEST_RATIO_WITHOUT_EXPONENT + ratioStep / 2;
    }

    /** 10 to the power n, where n is the number of decimal digits that a number of the type always keeps. */
    private static double tensOf(DataType type) {
        return Math.pow(10, Math.floor((type.significandBits() - 1) * Math.log10(2)));
    }

    private static String name(double number) {
        return Double.isNaN(number) ? "nan" : number < 0 ? "-inf" : "inf";
    }

    private static String padded(int width, String text) {
        return " ".repeat(Math.max(width - text.length(), 0)) + text;
    }

    private static String filled(String text, int width, char filling) {
        char[] missing = new char[Math.max(width - text.length(), 0)];
        Arrays.fill(missing, filling);
        return text + new String(missing);
    }

    /** A finite number: the digits before the point, with the sign; the digits after it; the exponent of ten. */
    private static final class Parts {
        private final String whole;
        private final String fraction;
        private final int exponent;

        private Parts(double number, String whole, String fraction, int exponent) {
            this.whole = Math.copySign(1, number) < 0 ? "-" + whole : whole;
            this.fraction = withoutLastZeros(fraction);
            this.exponent = exponent;
        }

        private static Parts positional(double number, DataType type, int maxFraction) {
            DecimalDigits found = DecimalDigits.of(number, type, DecimalDigits.UNLIMITED, maxFraction, 0);
            String digits = "0".repeat(Math.max(-found.exponent, 0)) + found.digits;
            int numWhole = Math.max(found.exponent, 0) + 1;
            String all = filled(digits, numWhole, '0');
            return new Parts(number, all.substring(0, numWhole), all.substring(numWhole), 0);
        }

        private static Parts scientific(double number, DataType type, int maxDigits, int minDigits) {
            DecimalDigits found = DecimalDigits.of(number, type, maxDigits, DecimalDigits.UNLIMITED, minDigits);
            return new Parts(number, found.digits.substring(0, 1), found.digits.substring(1), found.exponent);
        }

        private int exponentDigits() {
            return Math.max(Integer.toString(Math.abs(exponent)).length(), MIN_EXPONENT_DIGITS);
        }

        private String exponentText(int numDigits) {
            String digits = Integer.toString(Math.abs(exponent));
            return (exponent < 0 ? "e-" : "e+") + "0".repeat(Math.max(numDigits - digits.length(), 0)) + digits;
        }

        private static String withoutLastZeros(String digits) {
            int end = digits.length();
            while (end > 0 && digits.charAt(end - 1) == '0') {
                end--;
            }
            return digits.substring(0, end);
        }
    }
}
