// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/** Gives the memory of an array as a Java buffer, without a copy. */
final class ArrayMemory {
    private ArrayMemory() {}

    static FloatBuffer floats(ArrayData array) {
        ArrayElements.require(array, "toFloatBuffer", DataType.FLOAT32);
        if (!array.isOnCpu()) {
            throw new IllegalStateException("toFloatBuffer needs an array on the CPU, this one is on "
                    + array.manager().getDevice() + "; toFloatArray copies");
        }
        if (bufferSize(array.tensor()) == 0) {
            return Buffers.direct(0).asFloatBuffer();
        }
        if (!array.isRowMajor()) {
            throw new IllegalStateException("toFloatBuffer needs the elements one after the other, those of this array "
                    + "are not; duplicate() copies them");
        }
        NativeTensor view = array.tensor().reshape(array.shape.dims());
        ByteBuffer memory = null;
        try {
            memory = view.data();
            if (memory == null) {
                throw new IllegalStateException("toFloatBuffer needs an array that may be written in place, this one "
                        + "is a parameter; duplicate() copies");
            }
            // Java's views of a buffer keep it alive, so the native view is closed after the last of them.
            view.closeAfter(memory);
        } catch (Throwable error) {
            view.close();
            throw error;
        }
        return memory.order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    /** The size of an array in bytes. Throws if a Java buffer cannot hold as many. */
    static int bufferSize(NativeTensor tensor) {
        long numBytes = tensor.numBytes();
        if (numBytes > Integer.MAX_VALUE) {
            throw new IllegalStateException("the array has " + numBytes + " bytes, more than a Java buffer can hold");
        }
        return (int) numBytes;
    }
}
