// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** HEED_ELEMENTWISE_... of heed.h, in the order of its numbers. */
enum ElementFunction {
    ADD,
    SUB,
    MUL,
    DIV,
    POW,
    MOD,
    MAXIMUM,
    MINIMUM,
    LOGICAL_AND,
    LOGICAL_OR,
    LOGICAL_XOR,
    LOGICAL_NOT,
    NEG,
    ABS,
    SIGN,
    SQUARE,
    ROUND,
    FLOOR,
    CEIL,
    TRUNC,
    SQRT,
    EXP,
    LOG,
    SIN,
    COS,
    TANH,
    SIGMOID,
    ERF,
    IS_NAN,
    IS_INFINITE;

    /** Whether elements of any type are taken as true or false. */
    boolean takesTruth() {
        return compareTo(LOGICAL_AND) >= 0 && compareTo(LOGICAL_NOT) <= 0;
    }

    boolean givesTruth() {
        return takesTruth() || compareTo(IS_NAN) >= 0;
    }

    /** Whether integers are taken as FLOAT32. */
    boolean isReal() {
        return compareTo(SQRT) >= 0;
    }
}
