// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * The result of a call of the native library. {@link HeedException} has those for which Java has no exception of its
 * own.
 */
public enum Status {
    /** The call succeeded. */
    OK,
    /** An argument is invalid, by itself or together with another. */
    INVALID_ARGUMENT,
    /** There was not enough host or device memory. */
    OUT_OF_MEMORY,
    /** The call is valid, but this library or device does not support it; the message says what is supported. */
    UNSUPPORTED,
    /** The block is not initialized. */
    NOT_INITIALIZED,
    /** A workspace is smaller than the call needs; the message has both sizes. */
    WORKSPACE_TOO_SMALL,
    /** A workspace or a cache is in use by another call. */
    BUSY,
    /** A file could not be opened, read or written. */
    IO,
    /** A file does not have the format that it should have. */
    CORRUPT_FILE,
    /** There is no array or parameter of that name. */
    NOT_FOUND,
    /** A cache has no room for the rows of a call; {@link CacheFullException} has the numbers. */
    CACHE_FULL,
    /** The driver, the plugin or the device is missing; the message says which. */
    DEVICE_UNAVAILABLE,
    /** The device failed. */
    DEVICE_LOST,
    /** The call would not take the fastest path, and the manager's {@link ContextOptions} are strict. */
    NOT_FASTEST,
    /** A defect of heed. */
    INTERNAL,
    /** The call was stopped, which throws a {@link java.util.concurrent.CancellationException}. */
    CANCELLED,
    /** A status that this version of the Java classes does not know. */
    UNKNOWN;

    private static final Status[] VALUES = values();

    /** The status of a number in heed.h, which counts from 0 in the order above. */
    static Status of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? VALUES[code] : UNKNOWN;
    }
}
