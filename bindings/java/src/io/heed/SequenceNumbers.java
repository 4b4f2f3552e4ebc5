// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;

/**
 * The numbers of the sequences of a call with a cache, and the native array that has them. The first call makes the
 * array; later ones make another one only for another number of sequences or another device. It belongs to a cache's
 * manager; if the collector frees it earlier, that is no leak.
 */
final class SequenceNumbers {
    /** Null: none are set. */
    private long[] numbers;

    private NDArray array;
    /** Whether the array has the numbers. */
    private boolean isWritten;

    boolean areSet() {
        return numbers != null;
    }

    /** Returns a copy of the numbers; null: none are set. */
    long[] get() {
        return numbers == null ? null : numbers.clone();
    }

    /** Copies the numbers; null: none. */
    void set(long[] wanted) {
        if (Arrays.equals(wanted, numbers)) {
            return;
        }
        if (wanted != null && numbers != null && numbers.length == wanted.length) {
            System.arraycopy(wanted, 0, numbers, 0, wanted.length);
        } else {
            numbers = wanted == null ? null : wanted.clone();
        }
        isWritten = false;
    }

    /** The array for a call with a cache of this manager, INT64 of (B); null if no numbers are set. */
    NativeTensor in(NDManager manager) {
        if (numbers == null) {
            return null;
        }
        if (array == null
                || array.isReleased()
                || array.size() != numbers.length
                || !array.getDevice().equals(manager.getDevice())) {
            if (array != null) {
                array.close();
            }
            array = manager.create(new Shape(numbers.length), DataType.INT64);
            array.tensor().leaveToCollector();
            isWritten = false;
        }
        if (!isWritten) {
            if (manager.getDevice().isCpu()) {
                // Allocates nothing.
                array.tensor().write(numbers);
            } else {
                array.set(numbers);
            }
            isWritten = true;
        }
        return array.tensor();
    }
}
