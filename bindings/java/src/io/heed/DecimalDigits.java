// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.math.BigInteger;

/**
 * The decimal digits of a floating-point number: the fewest that identify it among all numbers of its type, computed
 * exactly. These are NumPy's digits. Java's own are not always the fewest, and differ between its versions.
 */
final class DecimalDigits {
    /** More digits than any number has. */
    static final int UNLIMITED = 2000;

    /**
     * The number of fraction bits of a double, and the exponent field of a double whose last fraction bit is 2^0.
     */
    private static final int FRACTION_BITS = 52;

    private static final int EXPONENT_BIAS = 1075;

    /** The digits without a decimal point, and without leading zeros unless the number is 0. */
    final String digits;
    /** The power of ten of the first digit. */
    final int exponent;

    private DecimalDigits(String digits, int exponent) {
        this.digits = digits;
        this.exponent = exponent;
    }

    /**
     * Finds the digits of a finite number without its sign.
     *
     * @param value a number of the type `type`
     * @param type a floating-point type
     * @param maxDigits the largest number of digits; the number is rounded to the nearest, a tie to the even digit
     * @param maxFraction the largest number of digits after the decimal point; the first digit of the number must be
     *     among them or before the point
     * @param minDigits the smallest number of digits; fewer only if the exact number has fewer
     */
    static DecimalDigits of(double value, DataType type, int maxDigits, int maxFraction, int minDigits) {
        if (value == 0) {
            return new DecimalDigits("0", 0);
        }
        long bits = Double.doubleToRawLongBits(value) & Long.MAX_VALUE;
        int field = (int) (bits >>> FRACTION_BITS);
        long mantissa = (bits & ((1L << FRACTION_BITS) - 1)) | (field == 0 ? 0 : 1L << FRACTION_BITS);
        int power = Math.max(field, 1) - EXPONENT_BIAS;
        int dropped = Math.max(FRACTION_BITS + 1 - type.significandBits(), type.leastPower() - power);
        mantissa >>= dropped;
        power += dropped;
        boolean isEven = (mantissa & 1) == 0;
        boolean isPowerOfTwo = mantissa == 1L << (type.significandBits() - 1) && power > type.leastPower();

        // The number is rest / scale. `above` and `below` are half of the distances to its neighbours, divided by
        // scale.
        int shift = Math.max(power, 0);
        BigInteger rest = BigInteger.valueOf(mantissa).shiftLeft(shift + 2);
        BigInteger scale = BigInteger.ONE.shiftLeft(shift - power + 2);
        BigInteger above = BigInteger.ONE.shiftLeft(shift + 1);
        BigInteger below = isPowerOfTwo ? above.shiftRight(1) : above;
        int first = (int) Math.floor(Math.log10(Math.abs(value)));
        BigInteger tens = BigInteger.TEN.pow(Math.abs(first));
        if (first > 0) {
            scale = scale.multiply(tens);
        } else {
            rest = rest.multiply(tens);
            above = above.multiply(tens);
            below = below.multiply(tens);
        }
        // The logarithm was rounded, so that `first` may be off by one.
        if (rest.compareTo(scale) < 0) {
            first--;
            rest = rest.multiply(BigInteger.TEN);
            above = above.multiply(BigInteger.TEN);
            below = below.multiply(BigInteger.TEN);
        } else if (rest.compareTo(scale.multiply(BigInteger.TEN)) >= 0) {
            first++;
            scale = scale.multiply(BigInteger.TEN);
        }

        StringBuilder text = new StringBuilder();
        for (int exponent = first;; exponent--) {
            BigInteger[] parts = rest.divideAndRemainder(scale);
            text.append((char) ('0' + parts[0].intValue()));
            rest = parts[1];
            int toLower = rest.compareTo(below);
            int toUpper = rest.add(above).compareTo(scale);
            boolean mayEnd = isEven ? toLower <= 0 : toLower < 0;
            boolean mayRoundUp = isEven ? toUpper >= 0 : toUpper > 0;
            boolean isCut = text.length() == maxDigits || exponent == -maxFraction;
            if (isCut || ((mayEnd || mayRoundUp) && text.length() >= minDigits)) {
                int toHalf = mayEnd == mayRoundUp ? rest.shiftLeft(1).compareTo(scale) : mayEnd ? -1 : 1;
                boolean isOdd = (parts[0].intValue() & 1) == 1;
                return toHalf > 0 || (toHalf == 0 && isOdd)
                        ? roundedUp(text, first)
                        : new DecimalDigits(text.toString(), first);
            }
            rest = rest.multiply(BigInteger.TEN);
            above = above.multiply(BigInteger.TEN);
            below = below.multiply(BigInteger.TEN);
        }
    }

    private static DecimalDigits roundedUp(StringBuilder digits, int exponent) {
        int last = digits.length() - 1;
        while (last >= 0 && digits.charAt(last) == '9') {
            last--;
        }
        if (last < 0) {
            return new DecimalDigits("1", exponent + 1);
        }
        digits.setLength(last + 1);
        digits.setCharAt(last, (char) (digits.charAt(last) + 1));
        return new DecimalDigits(digits.toString(), exponent);
    }
}
