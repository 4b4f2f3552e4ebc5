// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * The result of a call of the native library. {@link HeedException} carries those that have no exception of their own
 * in
 * Java.
 */
public enum Status {
    /** The call succeeded. */
    OK,
    /** An argument is wrong in itself or against another. */
    INVALID_ARGUMENT,
    /** Host or device memory could not be had. */
    OUT_OF_MEMORY,
    /** Valid, but not something this library or device does; the sentence says what would do. */
    UNSUPPORTED,
    /** The block lacks parameters. */
    NOT_INITIALIZED,
    /** A workspace is smaller than the call needs; the sentence names both sizes. */
    WORKSPACE_TOO_SMALL,
    /** A workspace is in use by another call. */
    BUSY,
    /** A file could not be opened, read or written. */
    IO,
    /** A file is not what its format says. */
    CORRUPT_FILE,
    /** No array or parameter has that name. */
    NOT_FOUND,
    /** A key-value cache is full. */
    CACHE_FULL,
    /** Driver, plugin or device is missing; the sentence says which. */
    DEVICE_UNAVAILABLE,
    /** The device failed. */
    DEVICE_LOST,
    /** The call would not take the fastest path, which a strict context demands. */
    NOT_FASTEST,
    /** A defect of heed. */
    INTERNAL,
    /** A status that this version of the Java classes does not know. */
    UNKNOWN;

    private static final Status[] VALUES = values();

    /** The status of a number of heed.h, which counts them from 0 in the order above. */
    static Status of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? VALUES[code] : UNKNOWN;
    }
}
