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

    /** Refuses a result of another shape, where C sees it in another one. */
    static void checkShape(String name, NDArray result, Shape expected) {
        Shape shape = result.data().shape;
        if (!shape.equals(expected)) {
            throw new IllegalArgumentException(name + " has the shape " + shape + ", expected " + expected);
        }
    }

    /** Copies a result that is computed elsewhere, converted to its type. */
    static NDArray copied(NDArray computed, DataType type, NDArray result) {
        if (result.getDataType() != type) {
            throw new IllegalArgumentException(
                    "result is " + result.getDataType().name() + ", expected " + type.name() + ", the type of the result");
        }
        checkShape("result", result, computed.data().shape);
        computed.copyTo(result);
        return result;
    }

    /** Ends a call that has written the target. Returns the result that was given, or the target, if that is null. */
    static NDArray finished(NDArray result, NDArray target) {
        if (result == null) {
            return target;
        }
        if (result == target) {
            result.data().countWrite();
            return result;
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
        } else {
            // It may have been written in part.
            result.data().countWrite();
        }
        if (error instanceof Error) {
            throw (Error) error;
        }
        throw (RuntimeException) error;
    }
}
