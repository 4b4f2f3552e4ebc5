// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Locale;

/**
 * The type of an array's elements. Attention computes with FLOAT32, FLOAT16 and BFLOAT16; the others are stored and
 * converted.
 */
public enum DataType {
    /** IEEE 754 binary32, Java's float. */
    FLOAT32(0, 4, true),
    /** IEEE 754 binary64, Java's double. */
    FLOAT64(3, 8, true),
    /** IEEE 754 binary16. */
    FLOAT16(1, 2, true),
    /** Unsigned bytes. */
    UINT8(7, 1, false),
    /** Java's int. */
    INT32(4, 4, false),
    /** Java's byte. */
    INT8(6, 1, false),
    /** Java's long. */
    INT64(5, 8, false),
    /** One byte; any non-zero byte is true. */
    BOOLEAN(8, 1, false),
    /** The upper half of a binary32. */
    BFLOAT16(2, 2, true);

    private static final DataType[] VALUES = values();

    /** The heed_dtype in heed.h. */
    final int code;

    private final int numOfBytes;
    private final boolean floating;

    DataType(int code, int numOfBytes, boolean floating) {
        this.code = code;
        this.numOfBytes = numOfBytes;
        this.floating = floating;
    }

    static DataType of(int code) {
        for (DataType type : VALUES) {
            if (type.code == code) {
                return type;
            }
        }
        throw new UnsupportedOperationException(
                "the library has an element type " + code + ", which these Java classes do not know");
    }

    /**
     * Returns the size of one element.
     *
     * @return the number of bytes
     */
    public int getNumOfBytes() {
        return numOfBytes;
    }

    /**
     * Tells whether elements are floating-point numbers.
     *
     * @return true for FLOAT32, FLOAT64, FLOAT16 and BFLOAT16
     */
    public boolean isFloating() {
        return floating;
    }

    /**
     * Tells whether elements are integers.
     *
     * @return true for INT8, UINT8, INT32 and INT64
     */
    public boolean isInteger() {
        return !floating && this != BOOLEAN;
    }

    /**
     * Tells whether elements are true or false.
     *
     * @return true for BOOLEAN
     */
    public boolean isBoolean() {
        return this == BOOLEAN;
    }

    /**
     * Returns the name in lower case.
     *
     * @return the name, as "float32"
     */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
