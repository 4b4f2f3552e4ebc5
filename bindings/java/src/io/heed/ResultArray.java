// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Where an operation writes: a new array, or the one that the program gives. A call begins with {@link #target} or a
 * new array, and ends with {@link #finished} or {@link #dropped}.
 */
final class ResultArray {
    private ResultArray() {}

    /** The array to write for a result that the program gives: itself, or a new one if it is a parameter. */
    static NDArray target(NDArray result) {
        return target(result, "result");
    }

    /** The same with another name in exceptions. */
    static NDArray target(NDArray result, String name) {
        NDArray.tensorOf(result, name);
        ArrayData data = result.data();
        return data.isWrittenInPlace() ? result : data.made(data.dataType, data.shape);
    }

    /** Ends a call that has written the target. Returns the result that was given, or the target, if that is null. */
    static NDArray finished(NDArray result, NDArray target) {
        if (result == null || result == target) {
            return target;
        }
        try (NDArray values = target) {
            result.data().replace(values.tensor());
        }
        return result;
    }

    /** Ends a call that has failed. */
    static RuntimeException dropped(NDArray result, NDArray target, Throwable error) {
        if (result != target) {
            target.close();
        }
        if (error instanceof Error) {
            throw (Error) error;
        }
        throw (RuntimeException) error;
    }
}
