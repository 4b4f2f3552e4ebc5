// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.concurrent.CancellationException;

/** Makes the exceptions for the statuses of the native library. */
final class Errors {
    private Errors() {}

    /** Called by the native wrapper, which throws the result. */
    static Throwable of(int code, String sentence) {
        Status status = Status.of(code);
        switch (status) {
            case INVALID_ARGUMENT:
                return new IllegalArgumentException(sentence);
            case OUT_OF_MEMORY:
                return new OutOfMemoryError(sentence);
            case UNSUPPORTED:
                return new UnsupportedOperationException(sentence);
            case NOT_INITIALIZED:
            case BUSY:
                return new IllegalStateException(sentence);
            case CACHE_FULL:
                return new CacheFullException(sentence);
            case CANCELLED:
                return new CancellationException(sentence);
            default:
                return new HeedException(status, sentence);
        }
    }
}
